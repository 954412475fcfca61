#pragma once
// Memory that kernels work in.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "search.hpp"

namespace dsnc {

// Room for numbers, zeros at first, that begins where a cache line does.
template <class Number>
class Room {
 public:
    // Have room for so many; if that is more than before, all are zeros again.
    Number* make(size_t n) {
        if (n <= size_) return numbers_.get();
        const size_t bytes = (n * sizeof(Number) + 63) / 64 * 64 + 64;
        numbers_.reset(static_cast<Number*>(::operator new(bytes, std::align_val_t{64})));
        for (size_t i = 0; i < bytes / sizeof(Number); ++i) numbers_.get()[i] = 0;
        size_ = n;
        return numbers_.get();
    }
    Number* get() const { return numbers_.get(); }

 private:
    struct Free {
        void operator()(Number* numbers) const { ::operator delete(numbers, std::align_val_t{64}); }
    };
    std::unique_ptr<Number, Free> numbers_;
    size_t size_ = 0;
};

// What a thread needs to go through codes: making it takes longer than to search for one query.
class ScanRoom {
 public:
    // For codes of so many bits, and lists of k; `n_owners` is 0 where codes have no labels.
    ScanSpace make(int n_bits, int64_t n_codes, int64_t k, int n_queries, int64_t n_owners) {
        // A tile is read again for each pair of queries. For one alone, nothing is: larger is better.
        const int of_bytes = n_queries > 1 ? 128 : 512;
        const int tile = std::max(2, of_bytes / planes_of(n_bits));
        // Where room is short, what is out of reach by now is dropped: fewer than 2 k are left.
        const int64_t n_noted = std::min(4 * k + 64, n_codes) + 64;
        const size_t n = size_t(n_queries);
        if (best_.size() < n * size_t(n_owners)) best_.resize(n * size_t(n_owners), nothing);
        return {tile,
                distances_.make(2 * size_t(tile) * block_size),
                lows_.make(2 * size_t(tile)),
                counts_.make(n * (size_t(n_bits) + 1)),
                noted_.make(n * size_t(n_noted)),
                n_noted,
                best_.data(),
                n_owners};
    }

 private:
    Room<uint16_t> distances_;
    Room<int64_t> lows_, noted_;
    Room<int32_t> counts_;
    std::vector<int64_t> best_;
};

}  // namespace dsnc
