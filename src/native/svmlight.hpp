#pragma once
#include <cstddef>
#include <cstdint>

namespace dsnc {

// Write the number that begins at each start; tell whether all are exact. The text ends with a blank.
bool read_numbers(const uint8_t* text, const int64_t* starts, size_t n, double* numbers);

}  // namespace dsnc
