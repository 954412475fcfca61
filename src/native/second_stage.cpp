// Products of rows with the vectors of classes.
//
// A dense row is multiplied with the weights of a vector from one end to the other. A sparse row has
// far fewer features than a vector has weights, so that each is looked up: the weights of a vector
// are a hash table, half full, in groups of sixteen places. All places of the group of a feature are
// compared with it at once; where a group is full, what had no room is in the next. The groups of
// the next vector are fetched while those of one are looked at.
#include "second_stage.hpp"

#include "simd.hpp"

namespace dsnc::LEVEL {
namespace {

DSNC_INLINE Floats weights_of(const Group& group, uint32_t feature, float value) {
    const Uints places = load(group.places);
    const Floats weights = to_floats(taken_as<Ints>(places << 24) >> 24);
    return select((places >> 8) == all(feature), weights * all(value), Floats{});
}

DSNC_INLINE bool is_full(const Group& group) { return group.places[15] != 0; }

DSNC_INLINE Floats weights_of(const LargeGroup& group, uint32_t feature, float value) {
    const Floats weights = floats_of(group.weights);
    return select(load(group.features) == all(feature), weights * all(value), Floats{});
}

DSNC_INLINE bool is_full(const LargeGroup& group) { return group.features[15] != 0; }

constexpr size_t ahead = 2;  // vectors whose weights are fetched before

template <class G>
DSNC_INLINE void fetch(const G* groups, GroupsOfVector vector, const SparseRow& row) {
    for (size_t i = 0; i < row.n; ++i) {
        const G& group = groups[vector.first + group_of(row.hashes[i], vector.n)];
        __builtin_prefetch(&group);
        if (sizeof(G) > 64) __builtin_prefetch(reinterpret_cast<const char*>(&group) + 64);
    }
}

template <class G>
DSNC_INLINE float product(const G* groups, GroupsOfVector vector, const SparseRow& row) {
    if (!vector.n) return 0;
    Floats total{};
    const G* const first = groups + vector.first;
    const G* const end = first + vector.n;
    for (size_t i = 0; i < row.n; ++i) {
        const G* group = first + group_of(row.hashes[i], vector.n);
        total = total + weights_of(*group, row.features[i], row.values[i]);
        while (is_full(*group)) {  // which is rare, and some group is not
            if (++group == end) group = first;
            total = total + weights_of(*group, row.features[i], row.values[i]);
        }
    }
    return sum(total);
}

template <class G>
DSNC_INLINE void all_products(const WeightTable& table, const G* groups, const SparseRow& row,
                              const int64_t* vectors, size_t n, float* products) {
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(&table.vectors[vectors[i]]);
    if (n) fetch(groups, table.vectors[vectors[0]], row);
    for (size_t i = 0; i < n; ++i) {
        if (i + 1 < n) fetch(groups, table.vectors[vectors[i + 1]], row);
        products[i] = product(groups, table.vectors[vectors[i]], row);
    }
}

void sparse_products(const WeightTable& table, const SparseRow& row, const int64_t* vectors, size_t n,
                     float* products) {
    if (table.large) all_products(table, table.large, row, vectors, n, products);
    else all_products(table, table.groups, row, vectors, n, products);
}

// Of all features, in their order.
DSNC_INLINE float product_of_all(const int8_t* weights, const float* row, size_t n) {
    Floats total{};
    size_t i = 0;
    for (; i + width <= n; i += width) total = total + floats_of(weights + i) * load(row + i);
    float result = sum(total);
    for (; i < n; ++i) result += float(weights[i]) * row[i];
    return result;
}

DSNC_INLINE float product_of_some(const uint32_t* features, const int8_t* weights, const float* row,
                                  size_t n) {
    Floats total{};
    size_t i = 0;
    for (; i + width <= n; i += width) {
        const auto* places = reinterpret_cast<const int32_t*>(features + i);
        total = total + floats_of(weights + i) * gather(row, places);
    }
    float result = sum(total);
    for (; i < n; ++i) result += float(weights[i]) * row[features[i]];
    return result;
}

// Fetch the weights of a vector, and their features where they are needed; the first of many, after
// which the processor sees what is to come.
DSNC_INLINE void fetch(const WeightLists& lists, int64_t vector) {
    constexpr int64_t most = 2048;
    const int64_t start = lists.starts[vector];
    const int64_t n = lists.starts[vector + 1] - start < most ? lists.starts[vector + 1] - start : most;
    for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(lists.weights + start + i);
    if (lists.has_all[vector]) return;
    for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(lists.features + start + i);
}

void dense_products(const WeightLists& lists, const float* row, const int64_t* vectors, size_t n,
                    float* products) {
    for (size_t i = 0; i < n; ++i) {
        __builtin_prefetch(&lists.starts[vectors[i]]);
        __builtin_prefetch(&lists.has_all[vectors[i]]);
    }
    for (size_t i = 0; i < n; ++i) {
        if (i + ahead < n) fetch(lists, vectors[i + ahead]);
        const int64_t start = lists.starts[vectors[i]];
        const size_t size = size_t(lists.starts[vectors[i] + 1] - start);
        const int8_t* const weights = lists.weights + start;
        products[i] = lists.has_all[vectors[i]] ? product_of_all(weights, row, size)
                                                : product_of_some(lists.features + start, weights, row, size);
    }
}

}  // namespace

void add_second_stage(SecondStageKernels& table) {
    table.sparse_products = sparse_products;
    table.dense_products = dense_products;
}

}  // namespace dsnc::LEVEL
