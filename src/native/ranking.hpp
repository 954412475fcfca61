#pragma once
// From logits to classes in one call: codes, the nearest known ones, their classes by score.
#include <functional>

#include "index.hpp"

namespace dsnc {

class Shortlist {
 public:
    struct Settings {
        int64_t size;     // the nearest classes that are candidates
        int64_t n_flips;  // values of each chunk that are looked up; 0: search is exact
    };
    struct Answers {
        int64_t k;
        int64_t* classes;  // (n, k): -1 where there are fewer
        float* scores;     // (n, k)
        int64_t* inside;   // (n,): how many candidates there are
    };

    // `labels` are the class of each code, or null where that is its row.
    Shortlist(const Index& index, const int64_t* labels, int64_t n_classes, const Scoring& scoring,
              const Settings& settings);

    // Rank the classes of n rows. `words` are their codes, for rows that are nothing but bits: logits
    // are signs then. Otherwise, false where a logit is not a number. With `widen` the next classes
    // follow the candidates, until there are k.
    bool rank(const float* logits, const uint64_t* words, int64_t n, bool widen,
              const Answers& answers) const;

    // List the candidates of n rows, the nearest first, and what the bits cost in which the nearest code
    // of each differs. What is missing of `k` is -1.
    bool list(const float* logits, int64_t n, int64_t k, int64_t* classes, float* costs) const;

    int n_bits() const { return index_.codes().n_bits; }

 private:
    using Use = std::function<void(int64_t first, int64_t n, const uint64_t* queries, const Lists&)>;
    bool each_block(const float* logits, const uint64_t* words, int64_t n, int64_t length, bool widen,
                    const Use& use) const;
    void list_likely(const uint64_t* queries, const float* logits, int64_t n, const Lists& lists,
                     bool widen) const;
    void append_exactly(const uint64_t* query, const Lists& lists, int64_t i, int64_t n_found) const;

    const Index& index_;
    const int64_t* labels_;
    int64_t n_classes_;
    Scoring scoring_;
    Settings settings_;
    std::vector<Flip> flips_;
};

}  // namespace dsnc
