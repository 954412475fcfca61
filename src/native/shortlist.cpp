// The nearest classes of a query in the order of their scores on its soft bits: see `Scoring`.
#include <cmath>

#include "bits.hpp"
#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int line = 16;      // numbers in a cache line
constexpr float sure = 1e6f;  // no bit counts for more, so that no score is infinite
constexpr float step = 1e-5f;  // a share of the score that roundings do not lose

// tanh(x) is x times a polynomial in x^2, of these coefficients, over another: as the Eigen library
// has it, within 4e-7, and exactly 1 from the top on.
constexpr float tanh_above[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                                4.89352455891786e-03f};
constexpr float tanh_below[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                                4.89352518554385e-03f};
constexpr float tanh_top = 7.90531110763549805f;

// The best classes of a row so far, by score and then by number.
struct Line {
    int64_t* classes;
    float* scores;
    int64_t k;
    int64_t n = 0;

    void insert(int64_t owner, float score) {
        int64_t place = n;
        while (place > 0 &&
               (scores[place - 1] < score || (scores[place - 1] == score && classes[place - 1] > owner))) {
            if (place < k) {
                scores[place] = scores[place - 1];
                classes[place] = classes[place - 1];
            }
            --place;
        }
        if (place < k) {
            scores[place] = score;
            classes[place] = owner;
        }
        if (n < k) ++n;
    }
};

void soften(const float* logits, int n_bits, float half, float* soft) {
    for (int j = 0; j < n_bits; ++j) {
        float x = half * logits[j];
        x = x < -tanh_top ? -tanh_top : x;
        x = x > tanh_top ? tanh_top : x;
        const float s = x * x;
        float p = tanh_above[0], q = tanh_below[0];
        for (int a = 1; a < 7; ++a) p = p * s + tanh_above[a];
        for (int b = 1; b < 4; ++b) q = q * s + tanh_below[b];
        soft[j] = x * p / q;
    }
}

DSNC_INLINE float dot(const float* a, const float* b, int n) {
    Floats sums = all(0.0f);
    int j = 0;
    for (; j + width <= n; j += width) sums = sums + load(a + j) * load(b + j);
    float total = 0;
    for (; j < n; ++j) total += a[j] * b[j];
    return sum(sums) + total;
}

// How sure a query is, in all, of the bits in which it differs from a code.
float doubt_about(const uint64_t* query, const uint64_t* code, int n_words, const float* logits) {
    float total = 0;
    for (int w = 0; w < n_words; ++w) {
        for (uint64_t differing = query[w] ^ code[w]; differing != 0; differing &= differing - 1) {
            const float size = std::fabs(logits[64 * w + __builtin_ctzll(differing)]);
            total += size < sure ? size : sure;
        }
    }
    return total;
}

// Add a class one step below the last.
void append(Line& line, int64_t owner) {
    const float last = line.scores[line.n - 1], size = std::fabs(last);
    line.scores[line.n] = last - step * (size > 1 ? size : 1);
    line.classes[line.n++] = owner;
}

// Put the classes of one query in order; return how many candidates there are.
int64_t rank_one(const Ranking& task, int64_t i) {
    const Lists& lists = task.lists;
    const Scoring& scoring = task.scoring;
    const int n_bits = task.codes.n_bits, n_words = task.codes.n_words;
    const int64_t *keys = lists.keys_of(i), *owners = lists.owners_of(i);
    const float* logits = task.logits + i * n_bits;
    const int64_t most = smaller(task.size, lists.k);
    int64_t near = 0;
    while (near < most && keys[near] < task.beyond) {
        for (int j = 0; j < n_bits; j += line) __builtin_prefetch(scoring.weight + owners[near] * n_bits + j);
        ++near;
    }
    const float* soft = logits;
    if (!task.hard) {
        soften(logits, n_bits, scoring.half, task.soft);
        soft = task.soft;
    }
    Line found{task.classes + i * task.k, task.scores + i * task.k, task.k};
    for (int64_t entry = 0; entry < near; ++entry) {
        const int64_t owner = owners[entry];
        float score = scoring.bias[owner] + dot(soft, scoring.weight + owner * n_bits, n_bits);
        if (scoring.closeness > 0)
            score -= scoring.closeness * doubt_about(task.queries + i * n_words,
                                                     task.codes[keys[entry] & row_mask], n_words, logits);
        found.insert(owner, score);
    }
    for (int64_t entry = near; entry < lists.k && found.n < found.k; ++entry) {
        if (keys[entry] == nothing) break;
        append(found, owners[entry]);
    }
    for (int64_t place = found.n; place < found.k; ++place) {
        found.classes[place] = -1;
        found.scores[place] = -INFINITY;
    }
    return near;
}

// Write the k best classes of each query and their scores.
//
// Candidates come first, ordered by score, and are counted in `inside`. Others follow as near as they
// are, one step below each other.
void rank(const Ranking& task) {
    for (int64_t i = 0; i < task.n; ++i) task.inside[i] = rank_one(task, i);
}

// Write what the soft bits of each row are worth to some classes.
void multiply(const float* soft, const float* weight, const int64_t* classes, int64_t n, int64_t width_of_row,
              int n_bits, float* products) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t entry = 0; entry < width_of_row; ++entry)
            products[i * width_of_row + entry] =
                dot(soft + i * n_bits, weight + classes[i * width_of_row + entry] * n_bits, n_bits);
}

// Write the doubts of each query about some codes.
void doubt(const Codes& codes, const uint64_t* queries, const int64_t* rows, const float* logits, int64_t n,
           int64_t width_of_row, float* doubts) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t entry = 0; entry < width_of_row; ++entry)
            doubts[i * width_of_row + entry] =
                doubt_about(queries + i * codes.n_words, codes[rows[i * width_of_row + entry]], codes.n_words,
                            logits + i * codes.n_bits);
}

// Take the best of some more classes into the line of each row: they are numbered from `first`, and all
// with smaller numbers have been lined up before.
void line_up(const float* scores, int64_t n, int64_t n_classes, int64_t first, int64_t k, int64_t* classes,
             float* best) {
    for (int64_t i = 0; i < n; ++i) {
        Line line{classes + i * k, best + i * k, k, smaller(first, k)};
        for (int64_t c = 0; c < n_classes; ++c) {
            const float score = scores[i * n_classes + c];
            if (line.n < k || score > line.scores[k - 1]) line.insert(first + c, score);
        }
    }
}

}  // namespace

void add_shortlist(SearchKernels& kernels) {
    kernels.line_up = line_up;
    kernels.rank = rank;
    kernels.multiply = multiply;
    kernels.doubt = doubt;
}

}  // namespace dsnc::LEVEL
