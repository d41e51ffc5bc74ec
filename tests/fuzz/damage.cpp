#include "fuzz/damage.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace support {
namespace {

using form = json_tree::form;

json_tree* nodes_of(json_tree& step) {
    json_tree* nodes = step.find("nodes");
    return nodes != nullptr && nodes->what == form::list ? nodes : nullptr;
}

std::string text_of(const json_tree& object, std::string_view key) {
    const json_tree* found = object.find(key);
    return found == nullptr ? std::string() : found->text;
}

/// The numbers of nodes in a member such as inputs; what is none is left out.
std::vector<std::size_t> numbers(const json_tree& node, std::string_view key) {
    std::vector<std::size_t> found;
    if (const json_tree* list = node.find(key))
        for (const json_tree& x : list->items)
            if (!x.text.empty() && x.text.size() < 9 && std::isdigit(static_cast<unsigned char>(x.text[0])))
                found.push_back(static_cast<std::size_t>(std::strtoull(x.text.c_str(), nullptr, 10)));
    return found;
}

/// Of every number in a member of a node the new one; what has none is left out.
void renumber(json_tree& node, std::string_view key, const std::vector<std::size_t>& number) {
    json_tree* list = node.find(key);
    if (list == nullptr || list->what != form::list) return;
    const std::vector<std::size_t> old = numbers(node, key);
    list->items.clear();
    for (std::size_t u : old)
        if (u < number.size() && number[u] != SIZE_MAX) list->items.push_back(json_tree::of(std::to_string(number[u])));
}

void renumber(json_tree& nodes, const std::vector<std::size_t>& number) {
    for (json_tree& node : nodes.items)
        for (std::string_view key : {"inputs", "alias", "mutates"}) renumber(node, key, number);
}

/// Words that mean something to some reader of a step, or nearly do.
const std::vector<std::string>& words() {
    static const std::vector<std::string> all = {"null",
                                                 "true",
                                                 "\"\"",
                                                 "[]",
                                                 "{}",
                                                 "\"%0\"",
                                                 "\"%1\"",
                                                 "\"%7\"",
                                                 "\"%\"",
                                                 "\"u0\"",
                                                 "\"u1\"",
                                                 "\"2*u0\"",
                                                 "\"u0*",
                                                 "\"sum\"",
                                                 "\"bf16\"",
                                                 "\"f32\"",
                                                 "\"i64\"",
                                                 "\"bool\"",
                                                 "\"c64\"",
                                                 "\"f8_e4m3\"",
                                                 "\"dim\"",
                                                 "\"layers.1\"",
                                                 "\"forward\"",
                                                 "\"1\"",
                                                 "\"backward\"",
                                                 "1.5",
                                                 "1e300",
                                                 "-1e300",
                                                 "1e-300",
                                                 "[0]",
                                                 "[-1]",
                                                 "[1,1]",
                                                 "[\"%0\",\"%1\"]",
                                                 "\"(u0 + 1)//2\"",
                                                 "\"u0//3\"",
                                                 "\"-u0\"",
                                                 "\"9223372036854775807*u0\"",
                                                 "\"u0**u0\"",
                                                 "\"Mod(u0, 0)\""};
    return all;
}
std::string any_number(dice& d, const std::string& before) {
    static const std::vector<std::string> all = {"0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "4",
                                                 "7",
                                                 "8",
                                                 "16",
                                                 "64",
                                                 "-1",
                                                 "-2",
                                                 "-3",
                                                 "127",
                                                 "128",
                                                 "65536",
                                                 "2147483647",
                                                 "2147483648",
                                                 "4294967295",
                                                 "1152921504606846976",
                                                 "4611686018427387904",
                                                 "9223372036854775807",
                                                 "-9223372036854775808"};
    const long long old = std::strtoll(before.c_str(), nullptr, 10);
    switch (d.below(6)) {
        case 0:
            return std::to_string(old < INT64_MAX ? old + 1 : old);
        case 1:
            return std::to_string(old > INT64_MIN ? old - 1 : old);
        case 2:
            return std::to_string(old / 2);
        case 3:
            return std::to_string(old < INT32_MAX && old > INT32_MIN ? old * 2 : 0);
        default:
            return all[d.below(all.size())];
    }
}
bool is_number(const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789-") == text.npos; }

/// A scalar of the step, of the same kind if there is luck: what stands there is what someone expects elsewhere.
std::string from_elsewhere(const json_tree& nodes, std::string_view key, dice& d) {
    for (int tries = 0; tries < 8 && !nodes.items.empty(); ++tries)
        if (const json_tree* found = nodes.items[d.below(nodes.items.size())].find(key)) return found->printed();
    return words()[d.below(words().size())];
}

/// Changes something in a value, at any depth.
void change(json_tree& value, dice& d) {
    if (value.what != form::scalar && !value.items.empty() && !d.one_in(4)) {
        const std::size_t k = d.below(value.items.size());
        switch (d.below(8)) {
            case 0:
                value.erase(k);
                return;
            case 1: {
                json_tree copy = value.items[k];
                value.items.push_back(std::move(copy));
                if (value.what == form::object) value.keys.push_back(value.keys[k]);
                return;
            }
            case 2:
                std::swap(value.items[k], value.items[d.below(value.items.size())]);
                return;
            default:
                change(value.items[k], d);
                return;
        }
    }
    if (value.what == form::list && !d.one_in(3)) {
        value.items.push_back(json_tree::of(d.one_in(2) ? any_number(d, "1") : words()[d.below(words().size())]));
        return;
    }
    if (value.what == form::scalar && is_number(value.text) && !d.one_in(5)) {
        value.text = any_number(d, value.text);
        return;
    }
    value = json_tree::of(d.one_in(3) ? any_number(d, value.text) : words()[d.below(words().size())]);
}

std::string damage_shape(json_tree& node, dice& d) {
    json_tree* outputs = node.find("outputs");
    if (outputs == nullptr || outputs->items.empty()) return "nothing";
    json_tree& tensor = outputs->items[d.below(outputs->items.size())];
    switch (d.below(6)) {
        case 0:
            if (json_tree* type = tensor.find("dtype")) {
                static const std::array<const char*, 6> types = {"\"i64\"",  "\"f32\"", "\"bf16\"",
                                                                 "\"bool\"", "\"c64\"", "\"x\""};
                type->text = types[d.below(types.size())];
            }
            return "dtype";
        case 1:
            tensor.erase("symbolic");
            return "symbolic is gone";
        case 2: {  // one dimension less or more, everywhere
            const bool less = d.one_in(2);
            const std::size_t at = d.below(4);
            for (std::string_view key : {"shape", "symbolic"}) {
                json_tree* list = tensor.find(key);
                if (list == nullptr || list->what != form::list) continue;
                if (less && at < list->items.size()) list->erase(at);
                else if (!less)
                    list->items.insert(
                        list->items.begin() + static_cast<std::ptrdiff_t>(std::min(at, list->items.size())),
                        json_tree::of(d.one_in(2) ? "1" : "2"));
            }
            return "rank";
        }
        case 3: {  // one extent, consistently
            json_tree* shape = tensor.find("shape");
            if (shape == nullptr || shape->items.empty()) return "nothing";
            const std::size_t at = d.below(shape->items.size());
            const std::string made = any_number(d, shape->items[at].text);
            shape->items[at] = json_tree::of(made);
            if (json_tree* symbolic = tensor.find("symbolic"); symbolic != nullptr && at < symbolic->items.size())
                symbolic->items[at] = json_tree::of(made);
            return "extent";
        }
        case 4:
            if (json_tree* list = tensor.find(d.one_in(2) ? "shape" : "symbolic")) change(*list, d);
            return "shape";
        default:
            change(*outputs, d);
            return "outputs";
    }
}

std::string damage_edges(json_tree& nodes, std::size_t v, dice& d) {
    static const std::array<const char*, 6> lists = {"inputs", "inputs", "inputs", "alias", "mutates", "alias"};
    const std::string key = lists[d.below(lists.size())];
    json_tree& node = nodes.items[v];
    if (node.find(key) == nullptr) node.set(key, json_tree::list());
    json_tree& list = *node.find(key);
    const std::string other = std::to_string(d.one_in(6) ? d.below(nodes.items.size()) : d.below(v));
    if (list.items.empty() || d.one_in(3)) list.items.push_back(json_tree::of(other));
    else if (d.one_in(2)) list.items[d.below(list.items.size())] = json_tree::of(other);
    else if (d.one_in(2)) list.erase(d.below(list.items.size()));
    else std::swap(list.items[0], list.items[d.below(list.items.size())]);
    return key;
}

/// Moves a node elsewhere; the others keep what they read.
std::string move_node(json_tree& nodes, std::size_t v, dice& d) {
    const std::size_t n = nodes.items.size(), to = d.one_in(2) ? std::min(v + 1 + d.below(4), n - 1) : d.below(n);
    std::vector<std::size_t> order(n), number(n);
    for (std::size_t k = 0; k < n; ++k) order[k] = k;
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(v));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), v);
    std::vector<json_tree> moved;
    for (std::size_t k = 0; k < n; ++k) {
        number[order[k]] = k;
        moved.push_back(std::move(nodes.items[order[k]]));
    }
    nodes.items = std::move(moved);
    renumber(nodes, number);
    return "moved to " + std::to_string(to);
}

/// Takes a node out; who read it reads its first input, if it has one.
std::string remove_node(json_tree& nodes, std::size_t v) {
    const std::vector<std::size_t> reads = numbers(nodes.items[v], "inputs");
    std::vector<std::size_t> number(nodes.items.size());
    for (std::size_t k = 0; k < number.size(); ++k) number[k] = k < v ? k : k - 1;
    number[v] = reads.empty() || reads[0] >= v ? SIZE_MAX : reads[0];
    nodes.erase(v);
    renumber(nodes, number);
    return "removed";
}

std::string damage_node(json_tree& nodes, dice& d) {
    const std::size_t v = d.below(nodes.items.size());
    json_tree& node = nodes.items[v];
    const std::string at = "node " + std::to_string(v) + " " + text_of(node, "name") + ": ";
    switch (d.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return at + damage_shape(node, d);
        case 4:
        case 5:
            if (json_tree* args = node.find("args")) change(*args, d);
            else node.set("args", json_tree::of(from_elsewhere(nodes, "args", d)));
            return at + "args";
        case 6:
            if (json_tree* named = node.find("kwargs")) change(*named, d);
            else node.set("kwargs", json_tree::of(from_elsewhere(nodes, "kwargs", d)));
            return at + "kwargs";
        case 7:
            node.set("op", json_tree::of(from_elsewhere(nodes, "op", d)));
            return at + "op";
        case 8: {
            static const std::array<const char*, 4> keys = {"kind", "collective", "group", "direction"};
            const char* key = keys[d.below(keys.size())];
            node.set(key, json_tree::of(from_elsewhere(nodes, key, d)));
            return at + key;
        }
        case 9:
        case 10:
            return at + damage_edges(nodes, v, d);
        case 11: {
            static const std::array<const char*, 3> keys = {"ns", "bytes", "payload"};
            const char* key = keys[d.below(keys.size())];
            node.set(key, json_tree::of(any_number(d, text_of(node, key))));
            return at + key;
        }
        case 12: {
            static const std::array<const char*, 14> paths = {
                "\"\"",           "\".\"",        "\"layers\"",    "\"0\"",           "\"..0..\"",
                "\"layers.1.2\"", "\"layers.*\"", "\"a.0\"",       "\"*\"",           "\"layers.0-1\"",
                "\"a:backward\"", "\"a=2,b\"",    "\"a b.c\\\\\"", "\"line\\nbreak\""};
            node.set("fqn", json_tree::of(d.one_in(2) ? paths[d.below(paths.size())]
                                                      : from_elsewhere(nodes, "fqn", d).c_str()));
            return at + "fqn";
        }
        case 13: {
            const std::size_t k = d.below(node.keys.size());
            if (node.keys.empty()) return "nothing";
            const std::string key = node.keys[k];
            if (d.one_in(2)) return node.erase(k), at + key + " is gone";
            json_tree& other = nodes.items[d.below(nodes.items.size())];
            if (json_tree* theirs = other.find(key)) std::swap(*theirs, node.items[k]);
            return at + key + " swapped";
        }
        case 14:
            return at + (d.one_in(2) ? move_node(nodes, v, d) : remove_node(nodes, v));
        default:
            if (!node.items.empty()) change(node, d);
            return at + "anything";
    }
}

std::string damage_rest(json_tree& step, dice& d) {
    static const std::array<const char*, 5> keys = {"groups", "costs", "symbols", "costs", "symbols"};
    const char* key = keys[d.below(keys.size())];
    json_tree* found = step.find(key);
    if (found == nullptr) return "nothing";
    if (std::string_view(key) == "symbols" && !found->items.empty() && !d.one_in(3)) {
        const std::size_t k = d.below(found->items.size());
        found->items[k] = json_tree::of(any_number(d, found->items[k].text));
    } else if (std::string_view(key) == "costs" && found->items.size() > 1 && d.one_in(2)) {
        static const std::array<const char*, 7> rates = {"1e-300", "1e300", "0", "1", "9223372036854775807",
                                                         "1e12",   "2"};
        found->items[d.below(2)] = json_tree::of(rates[d.below(rates.size())]);
    } else change(*found, d);
    return key;
}

}  // namespace

json_tree part_of(const json_tree& step, std::vector<char> keep) {
    const json_tree* nodes = step.find("nodes");
    if (nodes == nullptr) return step;
    json_tree made{form::object, "", {}, {}};
    for (std::size_t k = 0; k < step.keys.size(); ++k)
        if (step.keys[k] != "nodes") made.set(step.keys[k], step.items[k]);
    const std::size_t n = nodes->items.size();
    keep.resize(n, false);
    std::vector<std::vector<std::size_t>> reads(n);
    for (std::size_t v = 0; v < n; ++v) {
        reads[v] = numbers(nodes->items[v], "inputs");
        std::erase_if(reads[v], [&](std::size_t u) { return u >= n; });
    }
    const auto is_wait = [&](std::size_t v) { return text_of(nodes->items[v], "kind") == "\"wait\""; };
    for (std::size_t v = 0; v < n; ++v)
        for (std::size_t u : reads[v])
            if (is_wait(v) && (keep[v] || keep[u])) keep[v] = keep[u] = true;
    std::vector<char> needed = keep;
    std::vector<char> read(n, false);
    for (std::size_t v = 0; v < n; ++v)
        for (std::size_t u : reads[v]) {
            if (!keep[v]) continue;
            needed[u] = true;
            read[u] = true;
        }
    std::vector<std::size_t> number(n, SIZE_MAX);
    std::vector<json_tree> kept;
    bool has_output = false;
    json_tree loose = json_tree::list();
    for (std::size_t v = 0; v < n; ++v) {
        if (!needed[v]) continue;
        number[v] = kept.size();
        kept.push_back(nodes->items[v]);
        json_tree& node = kept.back();
        if (keep[v]) {
            has_output = has_output || text_of(node, "kind") == "\"output\"";
            if (!read[v] && node.find("mutates") == nullptr)
                loose.items.push_back(json_tree::of(std::to_string(number[v])));
            continue;
        }
        if (text_of(node, "kind") == "\"input\"") continue;
        for (const char* key : {"args", "kwargs", "alias", "mutates", "collective", "group", "payload"})
            node.erase(key);
        node.set("op", json_tree::of("\"placeholder\""));
        node.set("kind", json_tree::of("\"input\""));
        node.set("inputs", json_tree::list());
        node.set("ns", json_tree::of("0"));
        if (text_of(node, "bytes") == "0") node.set("bytes", json_tree::of("4096"));  // what was a view
    }
    json_tree& left = (made.set("nodes", json_tree::list()), *made.find("nodes"));
    left.items = std::move(kept);
    renumber(left, number);
    if (!has_output) {
        json_tree out{form::object, "", {}, {}};
        out.set("name", json_tree::of("\"output of the part\""));
        out.set("op", json_tree::of("\"output\""));
        out.set("kind", json_tree::of("\"output\""));
        out.set("inputs", std::move(loose));
        out.set("outputs", json_tree::list());
        out.set("bytes", json_tree::of("0"));
        out.set("ns", json_tree::of("0"));
        left.items.push_back(std::move(out));
    }
    return made;
}

json_tree some_of(const json_tree& step, dice& d, std::size_t most) {
    const json_tree* nodes = step.find("nodes");
    const std::size_t n = nodes == nullptr ? 0 : nodes->items.size();
    std::vector<std::size_t> exchanges;
    for (std::size_t v = 0; v < n; ++v)
        if (text_of(nodes->items[v], "collective") == "\"all_to_all\"") exchanges.push_back(v);
    const std::size_t count = 20 + d.below(d.one_in(4) ? most : std::min<std::size_t>(most, 120));
    std::size_t first = d.below(n);
    if (!exchanges.empty() && !d.one_in(4)) {
        const std::size_t at = exchanges[d.below(exchanges.size())], before = d.below(count);
        first = at > before ? at - before : 0;
    }
    std::vector<char> keep(n, false);
    for (std::size_t v = first; v < std::min(n, first + count); ++v) keep[v] = true;
    return part_of(step, std::move(keep));
}

std::string damage(json_tree& step, dice& d) {
    json_tree* nodes = nodes_of(step);
    if (nodes == nullptr || nodes->items.empty()) return "nothing";
    return d.one_in(10) ? damage_rest(step, d) : damage_node(*nodes, d);
}

}  // namespace support
