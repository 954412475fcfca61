#pragma once
// Checks of what is given: no number may lead outside of an array.
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace dsnc {

inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// Whether runs follow each other within so many numbers; `starts` has one more, at the end.
inline bool are_runs(const int64_t* starts, size_t n_runs, size_t size) {
    bool holds = starts[0] >= 0 && uint64_t(starts[n_runs]) <= size;
    for (size_t i = 0; i < n_runs; ++i) holds &= starts[i] <= starts[i + 1];
    return holds;
}

// Whether all numbers are `first` at least, and below `end`.
template <class T>
bool are_within(const T* numbers, size_t n, int64_t first, int64_t end) {
    bool holds = true;
    for (size_t i = 0; i < n; ++i) holds &= numbers[i] >= first && numbers[i] < end;
    return holds;
}

}  // namespace dsnc
