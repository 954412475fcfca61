#pragma once
// Training of the encoder and the class vectors: what the steps are given and work on.
#include <cstddef>
#include <cstdint>

#include "search.hpp"

namespace dsnc {

// Some thousand rows to learn from, in the order in which they come.
struct Rows {
    int64_t n;
    const int64_t* indptr;   // where the entries of each row begin; one more at the end
    const int32_t* indices;  // features of the entries
    const float* values;
    const int64_t* starts;   // where the classes of each row begin; one more at the end
    const int32_t* classes;  // of all rows, one row after the other
    const float* gains;      // how much each of these counts
    const float* weight;     // of each row
    int32_t* near;           // (n, n_nearest): the nearest classes, -1 where there are no more
};

// What is learned, or the sums of squared gradients of that, one for each vector.
struct Weights {
    float* encoder;     // (n_features, width)
    float* bias;        // (width,)
    float* classes;     // (n_classes, width)
    float* class_bias;  // (n_classes,)
};

// Numbers that stay the same.
struct Plan {
    int n_bits;
    int n_draws;
    float soft_share;  // of the loss; where it is 0, no soft bits are looked at
    float sharpness;   // of the soft bits
    int n_uniform;     // classes at random
    int window;        // blocks of classes in which the nearest are looked for
    float smoothing;
    float fading;     // what is left of a sum of squares after a step
    float bias_rate;  // as a share of that of the class vectors
    bool moves_encoder;
    bool each_alone;  // whether classes are decided one by one, by sigmoids, and not by a softmax
};

struct Sizes {
    int64_t n_features, n_classes;
    int width;      // numbers of a vector: the bits, and zeros up to a multiple of 16
    int n_inputs;   // of a row: drawn bits, then soft ones
    int n_nearest;  // classes that are looked for
};

// A row of a batch.
struct Slot {
    float* logits;
    float* chances;   // of the bits
    float* gradient;  // of the logits
    uint8_t* bytes;   // the code
    float* inputs;    // (n_inputs, width)
    int32_t* classes;  // that are scored: the row's own, the nearest, and some at random
    int n_own, n_near, n_classes;  // how many are its own, how many are not random, and all
    float* scores;     // (n_inputs, most), then their gradients
    float* totals;     // these, added up over the inputs
    int32_t* movers;   // places of the classes whose vectors are worth a step
    int n_movers;
};

// What a thread needs for itself.
struct Space {
    ScanSpace scan;
    int64_t* keys;     // (2, n_nearest)
    float* vectors;    // (4, width)
    float* shares;     // (most,)
    int32_t* classes;  // (most,)
    int32_t* features;  // (entries_at_once,), and of the same length
    float *values, *sizes;
};

constexpr int entries_at_once = 256;  // of a row

// The batch that is scored and then moves the weights, or the next one, which is made ready.
struct Batch {
    Slot* slots;
    int64_t first, n;  // rows
};

// All that the pieces of a step need.
struct Step {
    Plan plan;
    Sizes sizes;
    Weights weights, squares;
    Planes codes;  // of the classes: the signs of their vectors
    Rows rows;
    int most;  // classes that a row is scored with, in multiples of 16
    uint64_t seed;
    int64_t place;  // of the first row among those of the seed
    bool searches;  // whether the nearest classes are searched, or are those that the rows have
    Batch now, next;
    float encoder_rate, class_rate;
};

// A share of the classes or features, of so many.
struct Share {
    uint32_t number, n;
};

// What is compiled for each level.
struct TrainingKernels {
    // Write the codes of the classes, all of them.
    void (*lay_out)(const Step&);
    // Encode some rows of the next batch, find their classes, and draw their bits.
    void (*prepare)(const Step&, const Space&, int64_t begin, int64_t end);
    // Score a row of the batch; return its loss.
    float (*score)(const Step&, const Space&, int64_t place);
    // Move a share of what was scored.
    void (*move_classes)(const Step&, const Space&, Share);
    void (*move_features)(const Step&, const Space&, Share);
    // Operations on rows that tests look at alone: see train_vectors.hpp.
    void (*probabilities)(float* out, const float* x, int n, float sharpness);
    float (*exponentials)(float* x, int n, float top);
    void (*draw)(float* out, const float* chances, int n, uint32_t seed, uint32_t place);
    bool (*move)(float* out, const float* x, int n, float factor);
};

}  // namespace dsnc
