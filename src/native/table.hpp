#pragma once
// The nearest code of every code at once.
#include <cstddef>
#include <cstdint>

namespace dsnc {

constexpr int label_bits = 27;  // of a number of the table; leaves 5 for the distance, up to 31
constexpr uint32_t most_label = (uint32_t{1} << label_bits) - 1;
constexpr int least_bits = 4, most_bits = 28;  // of a table; a shorter code has zeros above
// Farther than any code of 28 bits is, and near enough to add 2 without running over.
constexpr uint32_t nothing_near = uint32_t{29} << label_bits;

// What is compiled for each level.
struct TableKernels {
    // Write the number of the nearest code everywhere: distance, then label. Before, there are labels
    // at the codes, and `nothing_near` elsewhere.
    void (*spread)(uint32_t* table, int n_bits);
};

}  // namespace dsnc
