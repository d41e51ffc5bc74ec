// JSON that a test can change: a tree whose numbers and texts stay as the file spells them.
#ifndef STRETTO_TESTS_FUZZ_JSON_TREE_HPP
#define STRETTO_TESTS_FUZZ_JSON_TREE_HPP

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// A value with everything in it. Members of an object keep their order, and may repeat.
struct json_tree {
    enum class form : std::uint8_t {
        scalar,
        list,
        object
    };
    form what = form::scalar;
    std::string text = "null";      ///< of a scalar: as JSON spells it
    std::vector<json_tree> items;   ///< of a list or an object
    std::vector<std::string> keys;  ///< of an object: of every item, without quotes

    [[nodiscard]] static json_tree of(std::string spelled) { return {form::scalar, std::move(spelled), {}, {}}; }
    [[nodiscard]] static json_tree list() { return {form::list, "", {}, {}}; }

    /// The first member of that name, or nothing.
    [[nodiscard]] json_tree* find(std::string_view key) {
        const auto at = std::find(keys.begin(), keys.end(), key);
        return at == keys.end() ? nullptr : &items[static_cast<std::size_t>(at - keys.begin())];
    }
    [[nodiscard]] const json_tree* find(std::string_view key) const { return const_cast<json_tree*>(this)->find(key); }
    void set(std::string_view key, json_tree value) {
        if (json_tree* known = find(key)) *known = std::move(value);
        else {
            keys.emplace_back(key);
            items.push_back(std::move(value));
        }
    }
    void erase(std::size_t k) {
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(k));
        if (what == form::object) keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(k));
    }
    void erase(std::string_view key) {
        for (std::size_t k = keys.size(); k-- > 0;)
            if (keys[k] == key) erase(k);
    }

    void print(std::string& to) const {
        if (what == form::scalar) to += text;
        if (what == form::scalar) return;
        to += what == form::list ? '[' : '{';
        for (std::size_t k = 0; k < items.size(); ++k) {
            if (k > 0) to += ',';
            if (what == form::object) to.append("\"").append(keys[k]).append("\":");
            items[k].print(to);
        }
        to += what == form::list ? ']' : '}';
    }
    [[nodiscard]] std::string printed() const {
        std::string to;
        print(to);
        return to;
    }

    /// Nothing if it is not JSON.
    [[nodiscard]] static std::optional<json_tree> parse(const std::string& text) {
        simdjson::dom::parser parser;
        simdjson::dom::element root;
        if (parser.parse(text).get(root) != simdjson::SUCCESS) return std::nullopt;
        return copied(root);
    }

private:
    [[nodiscard]] static json_tree copied(simdjson::dom::element e) {
        if (e.is_array()) {
            json_tree made = list();
            for (simdjson::dom::element item : simdjson::dom::array(e)) made.items.push_back(copied(item));
            return made;
        }
        if (e.is_object()) {
            json_tree made{form::object, "", {}, {}};
            for (const auto& member : simdjson::dom::object(e)) {
                made.keys.emplace_back(member.key);
                made.items.push_back(copied(member.value));
            }
            return made;
        }
        return of(simdjson::minify(e));
    }
};

}  // namespace support

#endif
