// Reads and writes the files of the trainer. A file is written whole or not at all. Checkpoints are files from which a
// training continues bit for bit.
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

/// Returns the content of a file, or what is wrong.
[[nodiscard]] stretto::expected<std::string, std::string> read_file(const std::string& path);
/// Writes a file by replace_file. Returns nothing, or what is wrong.
[[nodiscard]] std::optional<std::string> write_file(const std::string& path, const std::string& content);
/// Returns what would keep write_file from writing there, or nothing.
[[nodiscard]] std::optional<std::string> fault_of_file(const std::string& path);

/// A training between two steps, with all that must be the same to continue it. That includes the chunks in which it
/// has run, since sums over other chunks are rounded differently. What multiplies matrices is not included, because the
/// name of a library does not tell how it rounds: its version and the processor matter, too.
struct checkpoint {
    model_shape shape;
    trainer::mesh mesh;
    std::uint64_t text = 0;  ///< hash_of the text
    std::vector<stretto::module_chunks> chunks = {};
    training_state state;
};
/// Returns the 64-bit FNV-1a hash of a text.
[[nodiscard]] std::uint64_t hash_of(const std::string& bytes);
/// Returns a checkpoint as the content of a file, which ends with a check sum.
[[nodiscard]] std::string spelled(const checkpoint& c);
/// Reads a checkpoint from the content of a file. The error says what is wrong with the file, with a hint.
[[nodiscard]] stretto::expected<checkpoint, std::string> parsed_checkpoint(const std::string& bytes);

}  // namespace trainer

#endif
