// Files of the trainer: written whole or not at all, and checkpoints, from which a training goes on bit for bit.
#ifndef MOE_TRAINER_FILES_HPP
#define MOE_TRAINER_FILES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/module_regions.hpp"
#include "training.hpp"

namespace trainer {

[[nodiscard]] stretto::expected<std::string, std::string> read_file(const std::string& path);
/// Writes beside the file, and then puts it in its place: nobody sees half of it. Nothing, or what is wrong.
[[nodiscard]] std::optional<std::string> write_file(const std::string& path, const std::string& content);
/// What would keep write_file from writing there; leaves nothing behind.
[[nodiscard]] std::optional<std::string> fault_of_path(const std::string& path);

/// A training between two steps, with all that must be the same to go on: also in which chunks it has run, since sums
/// over chunks have other bits.
struct checkpoint {
    model_shape shape;
    trainer::mesh mesh;
    std::uint64_t text = 0;  ///< hash_of the text
    std::vector<stretto::module_chunks> chunks = {};
    training_state state;
};
[[nodiscard]] std::uint64_t hash_of(const std::string& bytes);
[[nodiscard]] std::string spelled(const checkpoint& c);
/// An error says what is wrong with the file, with a hint.
[[nodiscard]] stretto::expected<checkpoint, std::string> parsed_checkpoint(const std::string& bytes);

}  // namespace trainer

#endif
