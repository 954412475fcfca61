#pragma once
// The second stage: what vectors of classes say of rows, and their training.
#include <cstddef>
#include <cstdint>

namespace dsnc {

// Sixteen weights of a vector, and the features that they belong to, numbered from 1; 0 is a free
// place. They fill from the first place on, so that a group is full if the last one is taken. One of
// few features is a line of the cache: a feature, and in the last octet its weight.
struct alignas(64) Group {
    uint32_t places[16];
};

struct alignas(64) LargeGroup {
    uint32_t features[16];
    int8_t weights[16];
};

// Where the weights of a vector are.
struct GroupsOfVector {
    uint64_t first;
    uint32_t n;
};

// A hash table for each vector; `large` is there where `groups` have no room for so many features.
struct WeightTable {
    const GroupsOfVector* vectors;
    const Group* groups;
    const LargeGroup* large;
};

// The weights of vectors, feature by feature.
struct WeightLists {
    const int64_t* starts;  // where each vector begins
    const uint32_t* features;
    const int8_t* weights;
    const uint8_t* has_all;  // of a vector: whether it has all features of a row, in their order
};

struct SparseRow {
    const uint32_t* features;  // numbered from 1
    const uint32_t* hashes;    // of these
    const float* values;
    size_t n;
};

// Rows that vectors are trained on: CSR, or dense where `starts` is null. Of sparse rows, no number
// of a feature leads outside of a vector.
struct TrainingRows {
    const int64_t* starts;
    const int32_t* features;
    const float* values;
    const float* squares;  // squared length of each row
    size_t n_values;
    size_t n_features;
};

// A support vector machine for one class.
struct Machine {
    const int64_t* rows;      // of its problem, as numbers of the rows above
    const uint8_t* positive;  // whether each has the class
    size_t n;
    uint64_t seed;
};

// What is the same for all of them.
struct MachineSettings {
    const float* penalty;  // 1 / (2 * C) of each row
    float offset;          // what the bias is multiplied with
    float tolerance;       // of the gradient
    float lean;            // how much of its center, of length 1, a class gets on top
    int n_passes;
};

struct MachineScratch {
    float* vector;  // zeros before; the result
    float* center;  // zeros before and after
    float* alpha;   // for each row of the problem, as `order`
    int64_t* order;
};

// What is compiled for each level.
struct SecondStageKernels {
    // Write the products of a row with some vectors.
    void (*sparse_products)(const WeightTable&, const SparseRow&, const int64_t* vectors, size_t n,
                            float* products);
    void (*dense_products)(const WeightLists&, const float* row, const int64_t* vectors, size_t n,
                           float* products);
    // Find the vector of a class; return its bias.
    float (*solve)(const TrainingRows&, const MachineSettings&, const Machine&, const MachineScratch&);
};

// Where the group of a feature is among so many: a hash, brought into range by a product.
inline __attribute__((always_inline)) uint32_t hash_of_feature(uint32_t feature) {
    return feature * 2654435761U;  // 2**32 divided by the golden ratio
}

inline __attribute__((always_inline)) uint32_t group_of(uint32_t hash, uint32_t n_groups) {
    return uint32_t((uint64_t(hash) * n_groups) >> 32);
}

}  // namespace dsnc
