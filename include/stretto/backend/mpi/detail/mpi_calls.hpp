// Includes the header of MPI without its C++ bindings, which were removed from the standard, and provides what every
// use of MPI here needs: error texts, and datatypes for ranges of bytes whose size exceeds an int.
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_CALLS_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_CALLS_HPP

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "stretto/backend/detail/owned.hpp"

namespace stretto::detail {

/// Returns MPI's text for an error code. For a code that MPI does not know, the text contains the number.
[[nodiscard]] inline std::string words_of_mpi_error(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text = {};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS || length <= 0)
        return "MPI error " + std::to_string(code);
    return {text.data(), static_cast<std::size_t>(length)};
}

/// An MPI datatype for the bytes [at, at + size) of a buffer, in blocks of at most `largest_block` bytes. The
/// destructor frees it; MPI keeps it until no pending operation uses it. Precondition: `largest_block` is from 1 to
/// INT_MAX.
class mpi_bytes_at {
public:
    mpi_bytes_at(std::size_t at, std::size_t size, std::size_t largest_block) {
        // The number of blocks must fit an int, too. Blocks of INT_MAX bytes allow sizes of almost 2^62 bytes.
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        for (std::size_t done = 0; done < size;) {
            const std::size_t length = std::min(size - done, largest_block);
            lengths.push_back(static_cast<int>(length));
            places.push_back(static_cast<MPI_Aint>(at + done));
            done += length;
        }
        code_ = MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE,
                                         &type_.slot());
        type_.keep(code_ == MPI_SUCCESS);
        if (code_ == MPI_SUCCESS) code_ = MPI_Type_commit(&type_.slot());
    }
    [[nodiscard]] MPI_Datatype type() const noexcept { return type_.get(); }
    /// Returns the error code of creating the type. Unless it is MPI_SUCCESS, the type must not be used.
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    static int free(MPI_Datatype& type) { return MPI_Type_free(&type); }

    owned<MPI_Datatype, &mpi_bytes_at::free> type_;
    int code_ = MPI_SUCCESS;
};

}  // namespace stretto::detail

#endif
