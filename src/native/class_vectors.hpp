#pragma once
// The vectors of classes, and candidates that they put in order.
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "second_stage.hpp"

namespace dsnc {

// Arrays of `dsnc.rerank.ClassVectors`, which has checked them.
struct VectorArrays {
    const int64_t* firsts;  // where the vectors of each class begin; null where each class has one
    const int64_t* starts;  // where the weights of each vector begin
    const uint32_t* features;
    const int8_t* weights;
    const float* scales;
    const float* bias;
    size_t n_classes, n_vectors, n_features;
    bool unit_rows;  // whether rows are divided by their length
};

// FeatureRows as they come: CSR, of floats or doubles, or dense where `dense` is not null.
struct FeatureRows {
    const int64_t* starts = nullptr;
    const int32_t* features = nullptr;
    const float* floats = nullptr;
    const double* doubles = nullptr;
    const float* dense = nullptr;  // as many numbers as there are features
};

// Return the length of a row, 1 of a row of zeros.
double length_of(const float* row, size_t n);

// Rows whose features ascend: one that stands in a row several times counts as the sum.
struct OrderedRows {
    std::vector<int64_t> starts;
    std::vector<int32_t> features;
    std::vector<float> values;
    std::vector<std::pair<int32_t, float>> row;  // that is being sorted

    // Return the same rows in order: as they are if they are so already, else our own.
    FeatureRows of(size_t n, const FeatureRows& rows);
};

// Candidates of rows, best first; a class of -1 ends a row that has fewer.
struct Candidates {
    int64_t* classes;
    float* scores;
    size_t n_rows, n_each;
};

struct Mixing {
    float mix;    // weight of the first score
    float reach;  // candidates that are further below the best one are left out
};

class ClassVectors {
 public:
    explicit ClassVectors(const VectorArrays& arrays);

    // Score candidates anew and put them in order; write how many of each row were looked at.
    void look(const FeatureRows& rows, const Candidates& candidates, const Mixing& mixing, int64_t* inside);

    // Write what the vectors of some classes say in place of their scores; nothing for one of -1.
    void margins(const FeatureRows& rows, const Candidates& candidates);

    const VectorArrays arrays;

 private:
    friend class Looker;
    void make_table();

    std::vector<uint8_t> has_all_;
    std::once_flag has_table_;  // for sparse rows, made when the first come
    std::vector<GroupsOfVector> vectors_;
    std::vector<Group> groups_;
    std::vector<LargeGroup> large_;
};

}  // namespace dsnc
