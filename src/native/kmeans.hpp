#pragma once
// Centers of the rows of classes.
#include <cstddef>
#include <cstdint>

namespace dsnc {

// Rows of a class, and what each counts.
struct WeightedRows {
    const float* rows;
    const float* weight;
    size_t n, width;
};

// Centers of a class, as wide as rows. Each class has as many rows at least.
struct Centers {
    float* centers;
    size_t n;
};

struct KMeansScratch {
    int64_t* owner;   // the center of each row
    float* distance;  // of each row from it, squared
    double* sums;     // for the numbers of each center, and one more
};

// Rows that move centers, and what they may be taken for.
struct MovingRows {
    const float* rows;
    const int64_t* own;         // the class of each row
    const float* weight;        // what each counts
    const int32_t* candidates;  // of each row: classes, -1 for none
    size_t n, width, n_candidates;
};

struct MovableCenters {
    float* centers;
    const int64_t* firsts;  // where those of each class begin
    size_t n_movable;       // those from here on stay where they are
};

struct Moving {
    float first_rate, last_rate;  // of the way that a row moves a center
    float spread;                 // by which each number of a row is moved at most, by lot
    uint32_t seed;
};

struct MovingScratch {
    float* moved;      // a row
    int64_t* nearest;  // center of each candidate
    float* share;      // of each candidate
};

// What is compiled for each level.
struct CenterKernels {
    // Find the centers of a class; return the weighted sum of squared distances to them.
    double (*find)(const WeightedRows&, const Centers&, int n_passes, uint32_t seed, const KMeansScratch&);
    void (*move)(const MovingRows&, const MovableCenters&, const Moving&, const MovingScratch&);
};

}  // namespace dsnc
