// Candidates in the order that the vectors of their classes give them:
//
//     score[k] = mix * first[k] + bias[k] + scale[k] * sum_j weight[k, j] * x[j]
//
// Where a class has several vectors, the one that says most counts.
#include "class_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr size_t in_a_place = (size_t{1} << 24) - 1;  // features that have room beside a weight

bool is_full(const Group& group) { return group.places[15] != 0; }
bool is_full(const LargeGroup& group) { return group.features[15] != 0; }

void add(Group& group, uint32_t feature, int8_t weight) {
    *std::find(group.places, group.places + 16, 0U) = feature << 8 | uint8_t(weight);
}

void add(LargeGroup& group, uint32_t feature, int8_t weight) {
    uint32_t* const place = std::find(group.features, group.features + 16, 0U);
    *place = feature;
    group.weights[place - group.features] = weight;
}

// Write the weights of a vector into its groups.
template <class G>
void fill(const VectorArrays& arrays, size_t vector, G* groups, uint32_t n_groups) {
    for (int64_t i = arrays.starts[vector]; i < arrays.starts[vector + 1]; ++i) {
        const uint32_t feature = arrays.features[i] + 1;
        uint32_t place = group_of(hash_of_feature(feature), n_groups);
        while (is_full(groups[place])) place = place + 1 < n_groups ? place + 1 : 0;
        add(groups[place], feature, arrays.weights[i]);
    }
}

}  // namespace

double length_of(const float* row, size_t n) {
    double totals[4] = {};  // one alone would be waited for
    for (size_t i = 0; i < n; ++i) totals[i % 4] += double(row[i]) * double(row[i]);
    const double total = (totals[0] + totals[2]) + (totals[1] + totals[3]);
    return total > 0 ? std::sqrt(total) : 1;
}

FeatureRows OrderedRows::of(size_t n, const FeatureRows& rows) {
    bool is_ordered = true;
    for (size_t i = 0; !rows.dense && i < n; ++i)
        for (int64_t p = rows.starts[i] + 1; p < rows.starts[i + 1]; ++p)
            is_ordered &= rows.features[p - 1] < rows.features[p];
    if (is_ordered) return rows;
    starts.assign(1, 0);
    features.clear();
    values.clear();
    for (size_t i = 0; i < n; ++i) {
        row.clear();
        for (int64_t p = rows.starts[i]; p < rows.starts[i + 1]; ++p)
            row.emplace_back(rows.features[p], rows.floats ? rows.floats[p] : float(rows.doubles[p]));
        std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [feature, value] : row) {
            if (int64_t(features.size()) > starts.back() && features.back() == feature) {
                values.back() += value;
                continue;
            }
            features.push_back(feature);
            values.push_back(value);
        }
        starts.push_back(int64_t(features.size()));
    }
    return {starts.data(), features.data(), values.data(), nullptr, nullptr};
}

ClassVectors::ClassVectors(const VectorArrays& given) : arrays(given), has_all_(given.n_vectors) {
    for (size_t v = 0; v < arrays.n_vectors; ++v) {
        const uint32_t* const features = arrays.features + arrays.starts[v];
        const size_t n = size_t(arrays.starts[v + 1] - arrays.starts[v]);
        size_t i = 0;
        while (n == arrays.n_features && i < n && features[i] == i) ++i;
        has_all_[v] = i == arrays.n_features;
    }
}

void ClassVectors::make_table() {
    uint64_t n = 0;
    for (size_t v = 0; v < arrays.n_vectors; ++v) {  // half full, so that some group is not
        const uint64_t n_weights = uint64_t(arrays.starts[v + 1] - arrays.starts[v]);
        vectors_.push_back({n, uint32_t((n_weights + 7) / 8)});
        n += vectors_.back().n;
    }
    const bool is_large = arrays.n_features > in_a_place;
    groups_.resize(is_large ? 0 : n);
    large_.resize(is_large ? n : 0);
    for (size_t v = 0; v < arrays.n_vectors; ++v) {
        if (is_large) fill(arrays, v, large_.data() + vectors_[v].first, vectors_[v].n);
        else fill(arrays, v, groups_.data() + vectors_[v].first, vectors_[v].n);
    }
}

// What says how much a row fits to classes.
class Looker {
 public:
    Looker(ClassVectors& vectors, const FeatureRows& rows);

    // Find what each of some classes says of a row; it is in `said` until the next call.
    void look(size_t row, const int64_t* classes, size_t n);

    std::vector<float> said;

 private:
    void pick(const int64_t* classes, size_t n);
    void read_sparse(size_t row);
    template <class Value>
    void read_entries(size_t start, size_t stop, const Value* values);

    const VectorArrays& arrays_;
    const FeatureRows& rows_;
    const WeightTable table_;
    const WeightLists lists_;
    std::vector<int64_t> picked_;  // vectors of the classes
    std::vector<uint32_t> features_, hashes_;
    std::vector<float> values_, products_;
};

Looker::Looker(ClassVectors& vectors, const FeatureRows& rows)
    : arrays_(vectors.arrays),
      rows_(rows),
      table_{vectors.vectors_.data(), vectors.groups_.data(),
             vectors.large_.empty() ? nullptr : vectors.large_.data()},
      lists_{arrays_.starts, arrays_.features, arrays_.weights, vectors.has_all_.data()} {}

void Looker::look(size_t row, const int64_t* classes, size_t n) {
    pick(classes, n);
    float norm = 1;
    if (rows_.dense) {
        const float* const values = rows_.dense + row * arrays_.n_features;
        kernels->second_stage.dense_products(lists_, values, picked_.data(), picked_.size(),
                                             products_.data());
        if (arrays_.unit_rows) norm = float(length_of(values, arrays_.n_features));
    } else {
        read_sparse(row);
        kernels->second_stage.sparse_products(
            table_, {features_.data(), hashes_.data(), values_.data(), values_.size()}, picked_.data(),
            picked_.size(), products_.data());
        if (arrays_.unit_rows) norm = float(length_of(values_.data(), values_.size()));
    }
    said.assign(n, -std::numeric_limits<float>::infinity());
    const int64_t* vector = picked_.data();
    const float* product = products_.data();
    for (size_t c = 0; c < n; ++c) {
        const int64_t k = classes[c];
        const int64_t n_each = arrays_.firsts ? arrays_.firsts[k + 1] - arrays_.firsts[k] : 1;
        for (int64_t i = 0; i < n_each; ++i, ++vector, ++product) {
            const float margin = arrays_.bias[*vector] + arrays_.scales[*vector] * *product / norm;
            if (margin > said[c]) said[c] = margin;
        }
    }
}

void Looker::pick(const int64_t* classes, size_t n) {
    picked_.clear();
    for (size_t c = 0; c < n; ++c) {
        const int64_t k = classes[c];
        if (k < 0 || size_t(k) >= arrays_.n_classes) throw std::invalid_argument("a candidate is no class");
        const int64_t first = arrays_.firsts ? arrays_.firsts[k] : k;
        const int64_t last = arrays_.firsts ? arrays_.firsts[k + 1] : k + 1;
        for (int64_t v = first; v < last; ++v) {
            picked_.push_back(v);
            __builtin_prefetch(&arrays_.bias[v]);
            __builtin_prefetch(&arrays_.scales[v]);
        }
    }
    products_.resize(picked_.size());
}

void Looker::read_sparse(size_t row) {
    const size_t start = size_t(rows_.starts[row]), stop = size_t(rows_.starts[row + 1]);
    if (rows_.floats) read_entries(start, stop, rows_.floats);
    else read_entries(start, stop, rows_.doubles);
}

template <class Value>
void Looker::read_entries(size_t start, size_t stop, const Value* values) {
    const size_t n = stop - start;
    features_.resize(n);
    hashes_.resize(n);
    values_.resize(n);
    for (size_t i = 0; i < n; ++i) {
        features_[i] = uint32_t(rows_.features[start + i]) + 1;
        hashes_[i] = hash_of_feature(features_[i]);
        values_[i] = float(values[start + i]);
    }
}

namespace {

// Move the candidate at a place up to where it belongs, by its score and then by its number.
void line_up(int64_t* classes, float* scores, size_t place) {
    const int64_t owner = classes[place];
    const float score = scores[place];
    for (; place > 0; --place) {
        const float before = scores[place - 1];
        if (!(before < score || (before == score && classes[place - 1] > owner))) break;
        scores[place] = before;
        classes[place] = classes[place - 1];
    }
    scores[place] = score;
    classes[place] = owner;
}

}  // namespace

void ClassVectors::look(const FeatureRows& rows, const Candidates& candidates, const Mixing& mixing,
                        int64_t* inside) {
    if (!rows.dense) std::call_once(has_table_, [this] { make_table(); });
    Looker looker(*this, rows);
    for (size_t row = 0; row < candidates.n_rows; ++row) {
        int64_t* const classes = candidates.classes + row * candidates.n_each;
        float* const scores = candidates.scores + row * candidates.n_each;
        size_t near = 0;
        while (near < candidates.n_each && classes[near] >= 0 && !(scores[0] - scores[near] > mixing.reach))
            ++near;
        inside[row] = int64_t(near);
        if (near < 2) continue;
        looker.look(row, classes, near);
        for (size_t c = 0; c < near; ++c) {
            scores[c] = mixing.mix * scores[c] + looker.said[c];
            line_up(classes, scores, c);
        }
    }
}

void ClassVectors::margins(const FeatureRows& rows, const Candidates& candidates) {
    if (!rows.dense) std::call_once(has_table_, [this] { make_table(); });
    Looker looker(*this, rows);
    std::vector<int64_t> known;
    for (size_t row = 0; row < candidates.n_rows; ++row) {
        const int64_t* const classes = candidates.classes + row * candidates.n_each;
        float* const scores = candidates.scores + row * candidates.n_each;
        known.clear();
        for (size_t c = 0; c < candidates.n_each; ++c)
            if (classes[c] >= 0) known.push_back(classes[c]);
        looker.look(row, known.data(), known.size());
        size_t place = 0;
        for (size_t c = 0; c < candidates.n_each; ++c)
            if (classes[c] >= 0) scores[c] = looker.said[place++];
    }
}

}  // namespace dsnc
