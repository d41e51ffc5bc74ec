// The header of MPI without its C++ bindings, which are gone from the standard, and what every use of it needs: words
// for errors, bytes at places that an int does not count, and a wait that lets others have the processor.
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
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace stretto::detail {

/// What MPI says of an error code.
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
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        for (std::size_t done = 0; done < size;) {
            const std::size_t length = std::min(size - done, largest_block);
            lengths.push_back(static_cast<int>(length));
            places.push_back(static_cast<MPI_Aint>(at + done));
            done += length;
        }
        code_ =
            MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &type_);
        if (code_ == MPI_SUCCESS) code_ = MPI_Type_commit(&type_);
    }
    mpi_bytes_at(mpi_bytes_at&& other) noexcept : type_(other.type_), code_(other.code_) {
        other.type_ = MPI_DATATYPE_NULL;
    }
    mpi_bytes_at& operator=(mpi_bytes_at&&) = delete;
    ~mpi_bytes_at() {
        if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    }
    [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    int code_ = MPI_SUCCESS;
};

/// MPI makes progress when it is called, and not for certain otherwise; so whoever waits asks again and again. Between
/// two questions others get the processor, and after many of them the thread sleeps.
class mpi_patience {
public:
    explicit mpi_patience(int questions) : left_(questions) {}
    void pause() {
        if (left_ > 0) {
            --left_;
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

private:
    int left_;
};

}  // namespace stretto::detail

#endif
