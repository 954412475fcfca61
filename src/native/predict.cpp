#include "predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr int64_t rows_at_once = 1024, units_at_once = 64;
constexpr float infinite = std::numeric_limits<float>::infinity();

template <class Value>
bool are_finite(const Value* values, int64_t n) {
    bool fine = true;
    for (int64_t i = 0; i < n; ++i)
        fine &= std::fabs(static_cast<float>(values[i])) <= std::numeric_limits<float>::max();
    return fine;
}

// Some rows behind a first one.
FeatureRows behind(const FeatureRows& rows, int64_t first, int64_t n_features) {
    FeatureRows others = rows;
    if (rows.dense) others.dense += first * n_features;
    else others.starts += first;
    return others;
}

// Put the first candidates, which got a second look, before the others; scores of these move with the
// last one before them.
void put_first(const int64_t* near, const float* looked_at, int64_t n, int64_t k, int64_t* classes,
               float* scores) {
    const float by = n > 0 && n < k ? looked_at[n - 1] - scores[n - 1] : 0;
    for (int64_t place = n; place < k; ++place)
        if (std::isfinite(scores[place] + by)) scores[place] += by;
    std::copy_n(near, n, classes);
    std::copy_n(looked_at, n, scores);
}

}  // namespace

void encode_dense_rows(const float* rows, int64_t n, const Layer& layer, bool unit, float* logits) {
    if (!unit) return kernels->search.encode_dense(rows, n, layer, logits);
    static thread_local std::vector<float> units;
    const int64_t width = layer.n_features;
    for (int64_t first = 0; first < n; first += units_at_once) {
        const int64_t some = std::min(units_at_once, n - first);
        units.resize(static_cast<size_t>(some * width));
        for (int64_t i = 0; i < some; ++i) {  // one of zeros stays
            const float* const row = rows + (first + i) * width;
            const double length = length_of(row, static_cast<size_t>(width));
            for (int64_t p = 0; p < width; ++p) units[i * width + p] = static_cast<float>(row[p] / length);
        }
        kernels->search.encode_dense(units.data(), some, layer, logits + first * layer.n_bits);
    }
}

struct Predictor::Room {
    OrderedRows ordered;

    std::vector<float> logits, scores, looked_at, shares;
    std::vector<uint64_t> words;
    std::vector<int64_t> classes, near, inside, within, all;
};

bool Predictor::answer(int64_t n, const FeatureRows& rows, const Answers& answers) const {
    static thread_local Room room;
    for (int64_t first = 0; first < n; first += rows_at_once) {
        const int64_t some = std::min(rows_at_once, n - first), place = first * answers.k;
        const Answers own{answers.k, answers.classes + place, answers.scores + place,
                          answers.shares ? answers.shares + place : nullptr};
        if (!answer_some(some, behind(rows, first, n_features()), room, own)) return false;
    }
    return true;
}

bool Predictor::answer_some(int64_t n, const FeatureRows& rows, Room& room, const Answers& answers) const {
    const int64_t k = answers.k;
    const FeatureRows ordered = room.ordered.of(static_cast<size_t>(n), rows);
    if (!encode(n, parts_.unit ? ordered : rows, room)) return false;
    if (!parts_.second.vectors && !answers.shares) {
        room.inside.resize(static_cast<size_t>(n));
        return parts_.shortlist->rank(room.logits.data(), nullptr, n, k > 1,
                                      {k, answers.classes, answers.scores, room.inside.data()});
    }
    const int64_t wanted = std::min(std::max(k, parts_.second.size), parts_.size);
    const int64_t width = answers.shares ? parts_.size : wanted;
    if (!look(n, ordered, width, room)) return false;
    decide(n, width, room, answers);
    if (answers.shares) share(n, width, room, answers);
    return true;
}

bool Predictor::encode(int64_t n, const FeatureRows& rows, Room& room) const {
    const Layer& layer = parts_.encoder;
    room.logits.resize(static_cast<size_t>(n * layer.n_bits));
    if (rows.dense) {
        if (!are_finite(rows.dense, n * layer.n_features)) return false;
        encode_dense_rows(rows.dense, n, layer, parts_.unit, room.logits.data());
        return true;
    }
    const int64_t first = rows.starts[0], n_entries = rows.starts[n];
    if (!(rows.floats ? are_finite(rows.floats + first, n_entries - first)
                      : are_finite(rows.doubles + first, n_entries - first)))
        return false;
    room.words.resize(static_cast<size_t>(n * ((layer.n_bits + 63) / 64)));
    const CsrRows entries{n, n_entries, rows.starts, rows.features, rows.floats, rows.doubles};
    return kernels->search.encode(entries, layer, parts_.unit, room.logits.data(), room.words.data()) ==
           Encoding::fine;
}

// List the candidates of some rows, and give those a second look that are to have one.
bool Predictor::look(int64_t n, const FeatureRows& rows, int64_t width, Room& room) const {
    const SecondStage& second = parts_.second;
    room.classes.resize(static_cast<size_t>(n * width));
    room.scores.resize(static_cast<size_t>(n * width));
    room.inside.resize(static_cast<size_t>(n));
    room.within.assign(static_cast<size_t>(n), 0);
    if (!parts_.shortlist->rank(room.logits.data(), nullptr, n, false,
                                {width, room.classes.data(), room.scores.data(), room.inside.data()}))
        return false;
    if (!second.vectors) return true;
    room.near.assign(static_cast<size_t>(n * second.size), -1);
    room.looked_at.assign(static_cast<size_t>(n * second.size), -infinite);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t some = std::min(room.inside[i], second.size);
        std::copy_n(&room.classes[i * width], some, &room.near[i * second.size]);
        std::copy_n(&room.scores[i * width], some, &room.looked_at[i * second.size]);
    }
    const Candidates candidates{room.near.data(), room.looked_at.data(), static_cast<size_t>(n),
                                static_cast<size_t>(second.size)};
    second.vectors->look(rows, candidates, second.mixing, room.within.data());
    return true;
}

// Write the best classes and their scores: those that got a second look, the others within reach of the
// shortlist, and where some row has fewer, those that come next.
void Predictor::decide(int64_t n, int64_t width, Room& room, const Answers& answers) const {
    const int64_t k = answers.k, looked_at = parts_.second.size;
    bool are_enough = true;
    for (int64_t i = 0; i < n; ++i)
        are_enough &= std::max(room.within[i], std::min(room.inside[i], width)) >= k;
    if (!are_enough) {
        room.all.resize(static_cast<size_t>(n));
        parts_.shortlist->rank(room.logits.data(), nullptr, n, true,
                               {k, answers.classes, answers.scores, room.all.data()});
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t* const classes = answers.classes + i * k;
        float* const scores = answers.scores + i * k;
        const int64_t near = std::min(room.within[i], k);
        if (are_enough && near < k) {
            std::copy_n(&room.classes[i * width], k, classes);
            std::copy_n(&room.scores[i * width], k, scores);
        }
        put_first(room.near.data() + i * looked_at, room.looked_at.data() + i * looked_at, near, k, classes,
                  scores);
    }
}

// Write the probabilities of the answers: of a sure row, whose candidates got no second look, those that
// the shortlist gives.
void Predictor::share(int64_t n, int64_t width, Room& room, const Answers& answers) const {
    const SecondStage& second = parts_.second;
    room.shares.resize(static_cast<size_t>(std::max(width, second.size)));
    for (int64_t i = 0; i < n; ++i) {
        const bool is_sure = room.within[i] <= 1;
        const int64_t some = is_sure ? room.inside[i] : room.within[i];
        const float* const scores = is_sure ? &room.scores[i * width] : &room.looked_at[i * second.size];
        const Confidence& confidence = is_sure ? parts_.confidence : second.confidence;
        const float rest = confidence.shares(scores, some, parts_.n_classes - some, room.shares.data());
        float* const shares = answers.shares + i * answers.k;
        for (int64_t place = 0; place < answers.k; ++place)
            shares[place] = place < some ? room.shares[place] : rest;
    }
}

}  // namespace dsnc
