// The header of MPI without its C++ bindings, which are gone from the standard, and what every use of it needs: words
// for errors, and bytes at places that an int does not count.
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

/// What MPI says of an error code. One that it does not know is told as a number.
[[nodiscard]] inline std::string words_of_mpi_error(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text = {};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS || length <= 0)
        return "MPI error " + std::to_string(code);
    return {text.data(), static_cast<std::size_t>(length)};
}

/// A type of MPI that stands for the bytes [at, at + size), in blocks that an int can count. MPI frees it once nothing
/// that is under way uses it any more.
class mpi_bytes_at {
public:
    mpi_bytes_at(std::size_t at, std::size_t size, std::size_t largest_block) {
        // MPI counts blocks in an int, too: with the largest block these are 2^62 bytes.
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
    /// What MPI has said when the type was made; it is none unless that was MPI_SUCCESS.
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    static int free(MPI_Datatype& type) { return MPI_Type_free(&type); }

    owned<MPI_Datatype, &mpi_bytes_at::free> type_;
    int code_ = MPI_SUCCESS;
};

}  // namespace stretto::detail

#endif
