// Centers of the rows of each class: k-means, one class after the other, and then steps of all.
//
// The first centers are rows that are drawn by their squared distance from those before (D. Arthur,
// S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007). The steps are those of
// soft learning vector quantization (S. Seo, K. Obermayer, Neural Computation 15, 2003), with nothing
// but the nearest center of each class.
#include "kmeans.hpp"

#include <cmath>
#include <limits>

#include "noise.hpp"
#include "simd.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int n_trials = 4;          // rows that are drawn for a center
constexpr float most_step = 0.5F;    // of the way that a row moves a center, whatever its weight
constexpr float least_step = 1e-4F;  // less is not worth a step

// The squared distance of two points.
DSNC_INLINE float apart(const float* a, const float* b, size_t n) {
    Floats even{}, odd{};
    size_t i = 0;
    for (; i + 2 * width <= n; i += 2 * width) {
        const Floats first = load(a + i) - load(b + i);
        const Floats second = load(a + i + width) - load(b + i + width);
        even = even + first * first;
        odd = odd + second * second;
    }
    for (; i + width <= n; i += width) {
        const Floats first = load(a + i) - load(b + i);
        even = even + first * first;
    }
    float total = sum(even + odd);
    for (; i < n; ++i) total += (a[i] - b[i]) * (a[i] - b[i]);
    return total;
}

struct Nearest {
    size_t center;
    float distance;
};

// The nearest of some centers, the first of several.
DSNC_INLINE Nearest nearest_of(const float* row, const float* centers, size_t n, size_t n_numbers) {
    Nearest best{0, apart(row, centers, n_numbers)};
    for (size_t c = 1; c < n; ++c) {
        const float distance = apart(row, centers + c * n_numbers, n_numbers);
        if (distance < best.distance) best = {c, distance};
    }
    return best;
}

// K-means for the rows of one class.
struct KMeans {
    const WeightedRows& rows;
    const Centers& centers;
    const KMeansScratch& scratch;

    const float* row(size_t i) const { return rows.rows + i * rows.width; }

    // Take some of the rows for the first centers, one by one.
    //
    // A few are drawn, those likely that are far from the centers before; the one that helps most is
    // taken. The first one is as good as any.
    void draw(uint32_t seed) {
        for (size_t i = 0; i < rows.n; ++i) scratch.distance[i] = 1;
        take(0, drawn(chance(seed, 0)));
        for (size_t c = 1; c < centers.n; ++c) {
            size_t best = 0;
            double least = std::numeric_limits<double>::infinity();
            for (int trial = 0; trial < n_trials; ++trial) {
                const size_t i = drawn(chance(seed, uint32_t(c) * n_trials + uint32_t(trial)));
                const double left = left_by(i);
                if (left >= least) continue;
                best = i;
                least = left;
            }
            take(c, best);
        }
    }

    // Return a row, as likely as its weight and its squared distance are large.
    size_t drawn(float lot) const {
        double total = 0;
        for (size_t i = 0; i < rows.n; ++i) total += double(rows.weight[i]) * scratch.distance[i];
        double left = double(lot) * total;
        size_t chosen = 0;
        for (size_t i = 0; i < rows.n; ++i) {
            const double share = double(rows.weight[i]) * scratch.distance[i];
            if (share <= 0) continue;
            chosen = i;
            left -= share;
            if (left < 0) break;
        }
        return chosen;
    }

    // The weighted sum of squared distances if this row were a center, too.
    double left_by(size_t candidate) const {
        double left = 0;
        for (size_t i = 0; i < rows.n; ++i) {
            const float distance = apart(row(i), row(candidate), rows.width);
            const float before = scratch.distance[i];
            left += double(rows.weight[i]) * (distance < before ? distance : before);
        }
        return left;
    }

    // Make a row a center.
    void take(size_t c, size_t i) {
        std::memcpy(centers.centers + c * rows.width, row(i), rows.width * sizeof(float));
        for (size_t other = 0; other < rows.n; ++other) {
            const float distance = apart(row(other), row(i), rows.width);
            if (c == 0 || distance < scratch.distance[other]) scratch.distance[other] = distance;
        }
    }

    // Find the nearest center of each row; tell whether one is new.
    bool assign() {
        bool is_new = false;
        for (size_t i = 0; i < rows.n; ++i) {
            const Nearest nearest = nearest_of(row(i), centers.centers, centers.n, rows.width);
            is_new |= scratch.owner[i] != int64_t(nearest.center);
            scratch.owner[i] = int64_t(nearest.center);
            scratch.distance[i] = nearest.distance;
        }
        return is_new;
    }

    // Move the centers to the middle of their rows; one without rows stays.
    void average() {
        const size_t n = rows.width;
        std::memset(scratch.sums, 0, centers.n * (n + 1) * sizeof(double));
        for (size_t i = 0; i < rows.n; ++i) {
            double* const sums = scratch.sums + size_t(scratch.owner[i]) * (n + 1);
            const double weight = rows.weight[i];
            const float* const numbers = row(i);
            sums[n] += weight;
            for (size_t j = 0; j < n; ++j) sums[j] += weight * numbers[j];
        }
        for (size_t c = 0; c < centers.n; ++c) {
            const double* const sums = scratch.sums + c * (n + 1);
            if (sums[n] <= 0) continue;
            for (size_t j = 0; j < n; ++j) centers.centers[c * n + j] = float(sums[j] / sums[n]);
        }
    }

    double inertia() const {
        double total = 0;
        for (size_t i = 0; i < rows.n; ++i) total += double(rows.weight[i]) * scratch.distance[i];
        return total;
    }
};

double find(const WeightedRows& rows, const Centers& centers, int n_passes, uint32_t seed,
            const KMeansScratch& scratch) {
    KMeans k_means{rows, centers, scratch};
    for (size_t i = 0; i < rows.n; ++i) scratch.owner[i] = -1;
    k_means.draw(seed);
    for (int pass = 0; pass < n_passes && k_means.assign(); ++pass) k_means.average();
    return k_means.inertia();
}

// Write what each candidate of a row counts: minus the squared distance of its nearest center, as a
// logit. Return the place of the row's own class, or the number of candidates.
size_t find_shares(const MovingRows& rows, const MovableCenters& centers, size_t i,
                   const MovingScratch& scratch) {
    const int32_t* const candidates = rows.candidates + i * rows.n_candidates;
    size_t mine = rows.n_candidates;
    float least = std::numeric_limits<float>::infinity(), total = 0;
    for (size_t c = 0; c < rows.n_candidates; ++c) {
        const int32_t k = candidates[c];
        scratch.nearest[c] = -1;
        if (k < 0) continue;
        const int64_t first = centers.firsts[k];
        const Nearest nearest = nearest_of(scratch.moved, centers.centers + size_t(first) * rows.width,
                                           size_t(centers.firsts[k + 1] - first), rows.width);
        scratch.nearest[c] = first + int64_t(nearest.center);
        scratch.share[c] = nearest.distance;
        least = nearest.distance < least ? nearest.distance : least;
        if (k == rows.own[i]) mine = c;
    }
    for (size_t c = 0; c < rows.n_candidates; ++c) {
        scratch.share[c] = scratch.nearest[c] < 0 ? 0 : std::exp(least - scratch.share[c]);
        total += scratch.share[c];
    }
    for (size_t c = 0; c < rows.n_candidates; ++c) scratch.share[c] /= total;
    return mine;
}

// Move a center a step towards a row, or away from it.
DSNC_INLINE void step_to(float* center, const float* row, float step, size_t n) {
    size_t i = 0;
    for (; i + width <= n; i += width) {
        const Floats before = load(center + i);
        store(center + i, before + all(step) * (load(row + i) - before));
    }
    for (; i < n; ++i) center[i] += step * (row[i] - center[i]);
}

// Move the centers next to each row: towards it those of its class, away from it the others.
//
// Steps raise the log-likelihood of the own class among the candidates; rows whose own class is
// missing move nothing. Each number of a row is first moved by lot.
void move(const MovingRows& rows, const MovableCenters& centers, const Moving& moving,
          const MovingScratch& scratch) {
    const size_t n = rows.width;
    for (size_t i = 0; i < rows.n; ++i) {
        for (size_t j = 0; j < n; ++j) {
            const float lot = 2 * chance(moving.seed, uint32_t(i * n + j)) - 1;
            scratch.moved[j] = rows.rows[i * n + j] + moving.spread * lot;
        }
        const size_t mine = find_shares(rows, centers, i, scratch);
        if (mine == rows.n_candidates) continue;
        const float done = float(i) / float(rows.n);
        const float rate = moving.first_rate + done * (moving.last_rate - moving.first_rate);
        for (size_t c = 0; c < rows.n_candidates; ++c) {
            const float wish = float(c == mine) - scratch.share[c];
            float step = rows.weight[i] * rate * wish;
            step = step > most_step ? most_step : step < -most_step ? -most_step : step;
            const int64_t nearest = scratch.nearest[c];
            if (std::abs(step) > least_step && nearest < int64_t(centers.n_movable))
                step_to(centers.centers + size_t(nearest) * n, scratch.moved, step, n);
        }
    }
}

}  // namespace

void add_centers(CenterKernels& table) { table = {find, move}; }

}  // namespace dsnc::LEVEL
