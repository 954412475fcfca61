#pragma once
// A whole prediction: rows to classes and their probabilities.
//
// The encoder's logits find candidates, the features of the row decide among those that are near, and
// scores become probabilities; see `Predictor`, `Reranked` and `Confidence` of Python, which say the
// same step by step.
#include "class_vectors.hpp"
#include "confidence.hpp"
#include "ranking.hpp"

namespace dsnc {

// What decides among the candidates of the shortlist.
struct SecondStage {
    ClassVectors* vectors;  // null where there is none
    Mixing mixing;
    int64_t size;  // candidates that are looked at, at most; no more than the shortlist has
    Confidence confidence;
};

struct PredictorParts {
    Layer encoder;
    bool unit;  // whether rows are divided by their length before they are encoded
    const Shortlist* shortlist;
    int64_t n_classes;
    int64_t size;  // candidates of the shortlist, at most
    Confidence confidence;
    SecondStage second;
};

// The k best classes of rows, best first.
struct Answers {
    int64_t k;
    int64_t* classes;  // (n, k)
    float* scores;     // (n, k)
    float* shares;     // (n, k): probabilities; null where nobody asks for them
};

class Predictor {
 public:
    explicit Predictor(PredictorParts parts) : parts_(std::move(parts)) {}

    // Answer some rows. Where one of them is not plain, so that Python has to look at it, return false:
    // a value that is not finite, or a logit that is not a number.
    bool answer(int64_t n, const FeatureRows& rows, const Answers& answers) const;

    const PredictorParts& parts() const { return parts_; }
    int64_t n_features() const { return parts_.encoder.n_features; }
    int64_t n_classes() const { return parts_.n_classes; }

 private:
    struct Room;  // what a thread needs for some rows

    bool answer_some(int64_t n, const FeatureRows& rows, Room& room, const Answers& answers) const;
    bool encode(int64_t n, const FeatureRows& rows, Room& room) const;
    bool look(int64_t n, const FeatureRows& rows, int64_t width, Room& room) const;
    void decide(int64_t n, int64_t width, Room& room, const Answers& answers) const;
    void share(int64_t n, int64_t width, Room& room, const Answers& answers) const;

    PredictorParts parts_;
};

// Write the logits of dense rows; with `unit`, each row counts as divided by its length.
void encode_dense_rows(const float* rows, int64_t n, const Layer& layer, bool unit, float* logits);

}  // namespace dsnc
