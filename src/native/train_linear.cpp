// Whole training steps of a linear encoder and its class vectors.
//
// A step is a small batch of rows. Its rows are scored: softmax (or sigmoids) over a few classes,
// and gradients. Meanwhile the rows of the next batch are encoded, and their bits and the classes to
// score are found. Then classes and features are moved, row by row in their order, whoever moves them.
// So the same numbers come out whatever the number of threads. (The price: a row is encoded before
// the batch in front of it has moved anything.)
//
// A row's classes are its own, the nearest by code, and some at random, whose scores are raised by
// the logarithm of how many classes each stands for. Steps are those of AdaGrad with one size for all
// numbers of a vector: the sum of squared gradients of a class or feature fades a little whenever it
// is moved.
#include "level.hpp"
#include "noise.hpp"
#include "train_vectors.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr float tiny = 1e-4f;         // a gradient that is not worth a step
constexpr float least_square = 1e-10f;  // in square roots
constexpr float no_score = -1e30f;    // of no class
constexpr float unlikely = 1e-18f, sure = 1 - 1e-6f;  // probabilities, in logarithms
constexpr int ahead = 8;              // vectors that are on their way from memory
constexpr int apart = 6;              // bits: what shares a cache line is moved together
constexpr uint32_t stream = 1 << 16;  // places of noise apart; no code is longer

// The sum of some rows of a matrix, each multiplied with a number, and what they are added to.
struct WeighedRows {
    const float* matrix;
    int width;
    const int32_t* which;
    const float* factors;
    int64_t n;
    int64_t n_known;  // of `which`: so many may be fetched ahead
    const float* start;
};

// Sum up n times sixteen columns: the sums stay in registers.
template <int n>
DSNC_INLINE void add_columns(const WeighedRows& rows, int column, float* out) {
    Floats sums[n];
    for (int v = 0; v < n; ++v)
        sums[v] = rows.start == nullptr ? all(0.0f) : load(rows.start + column + v * width);
    for (int64_t p = 0; p < rows.n; ++p) {
        const int64_t later = p + ahead < rows.n_known ? p + ahead : rows.n_known - 1;
        fetch(rows.matrix + int64_t{rows.which[later]} * rows.width + column, n * width);
        const float* const row = rows.matrix + int64_t{rows.which[p]} * rows.width + column;
        const Floats factor = all(rows.factors[p]);
        for (int v = 0; v < n; ++v) sums[v] = factor * load(row + v * width) + sums[v];
    }
    for (int v = 0; v < n; ++v) store(out + column + v * width, sums[v]);
}

void add_up(const WeighedRows& rows, float* out) {
    int column = 0;
    for (; column + 4 * width <= rows.width; column += 4 * width) add_columns<4>(rows, column, out);
    switch ((rows.width - column) / width) {
        case 3: return add_columns<3>(rows, column, out);
        case 2: return add_columns<2>(rows, column, out);
        case 1: return add_columns<1>(rows, column, out);
    }
}

// Preparing: encode rows, find their classes, draw their bits.

void encode(const Step& step, int64_t row, int64_t n_known, Slot& slot) {
    const int64_t begin = step.rows.indptr[row], end = step.rows.indptr[row + 1];
    add_up({step.weights.encoder, step.sizes.width, step.rows.indices + begin, step.rows.values + begin,
            end - begin, n_known - begin, step.weights.bias},
           slot.logits);
    pack(slot.bytes, slot.logits, step.sizes.width);
    probabilities(slot.chances, slot.logits, step.sizes.width, step.plan.sharpness);
}

// Find the nearest classes of some rows by code, within a window where there are many classes.
void search(const Step& step, const Space& space, int64_t begin, int64_t end) {
    const Planes& codes = step.codes;
    const int64_t size = codes.n_blocks < step.plan.window ? codes.n_blocks : step.plan.window;
    const int64_t n_places = codes.n_blocks - size + 1;
    const uint32_t lot = hash_of(step.seed ^ 0x5851F42D4C957F2D, step.place + step.next.first);
    auto first = static_cast<int64_t>(chance(lot, 0) * static_cast<float>(n_places));
    first = first < n_places ? first : n_places - 1;
    const int k = step.sizes.n_nearest;
    const uint8_t* queries[2];
    int64_t* const keys[2] = {space.keys, space.keys + k};
    Scan task{codes, first, first + size, queries, keys, 0, k, nullptr, codes.n_bits > 254, space.scan};
    for (int64_t place = begin; place < end; place += 2) {
        task.n_queries = end - place < 2 ? 1 : 2;
        for (int q = 0; q < task.n_queries; ++q) queries[q] = step.next.slots[place + q].bytes;
        scan(task);
        int32_t* const near = step.rows.near + (step.next.first + place) * k;
        for (int e = 0; e < task.n_queries * k; ++e)
            near[e] = space.keys[e] == nothing ? -1 : static_cast<int32_t>(space.keys[e] & row_mask);
    }
}

// List, behind n classes, those of `more` that are there and not among the first `n_known`; return
// how many are listed then.
DSNC_INLINE int list_others(Ints more, int n_more, int n_known, int n, int32_t* classes) {
    Ints known = all(int32_t{0}) > more;  // -1 is none
    for (int m = 0; m < n_known; ++m) known = known | (more == all(classes[m]));
    uint32_t others = ~bits_of(known) & 0xffff;
    if (n_more < width) others &= (1u << n_more) - 1;
    int32_t numbers[width];
    store(numbers, more);
    for (; others != 0; others &= others - 1) classes[n++] = numbers[__builtin_ctz(others)];
    return n;
}

// List the classes that a row has, the nearest of the others, and then some at random.
void list_classes(const Step& step, int64_t row, uint32_t lot, Slot& slot) {
    const int64_t start = step.rows.starts[row];
    slot.n_own = static_cast<int>(step.rows.starts[row + 1] - start);
    for (int m = 0; m < slot.n_own; ++m) slot.classes[m] = step.rows.classes[start + m];
    const int32_t* const near = step.rows.near + row * step.sizes.n_nearest;
    int n = slot.n_own;
    for (int e = 0; e < step.sizes.n_nearest; e += width) {
        int32_t some[width] = {};
        const int n_some = step.sizes.n_nearest - e < width ? step.sizes.n_nearest - e : width;
        std::memcpy(some, near + e, static_cast<size_t>(n_some) * sizeof *near);
        n = list_others(load(some), n_some, slot.n_own, n, slot.classes);
    }
    slot.n_near = n;
    const auto n_all = static_cast<int32_t>(step.sizes.n_classes);
    const int n_drawn = n < n_all ? step.plan.n_uniform : 0;
    for (int u = 0; u < n_drawn; u += width) {
        const Floats lots = noise(lot, stream * (step.plan.n_draws + 1) + width * u, width);
        const Ints drawn = to_ints(lots * all(static_cast<float>(n_all)));
        const Ints last = all(n_all - 1);
        n = list_others(select(drawn < last, drawn, last), n_drawn - u, slot.n_near, n, slot.classes);
    }
    slot.n_classes = n;
}

// Draw a row's bits, and expect them.
void draw_inputs(const Step& step, uint32_t lot, Slot& slot) {
    const int n_columns = step.sizes.width;
    float* input = slot.inputs;
    for (int s = 0; s < step.plan.n_draws; ++s, input += n_columns)
        draw(input, slot.chances, n_columns, lot, s * stream);
    if (step.plan.soft_share > 0)
        for (int j = 0; j < n_columns; j += width)
            store(input + j, load(slot.chances + j) * all(2.0f) + all(-1.0f));
    for (int s = 0; s < step.sizes.n_inputs; ++s)  // what fills up a row is no bit
        for (int j = step.plan.n_bits; j < n_columns; ++j) slot.inputs[s * n_columns + j] = 0;
}

void prepare(const Step& step, const Space& space, int64_t begin, int64_t end) {
    const int64_t first = step.next.first;
    const int64_t n_known = step.rows.indptr[first + end];
    for (int64_t place = begin; place < end; ++place)
        encode(step, first + place, n_known, step.next.slots[place]);
    if (step.searches) search(step, space, begin, end);
    for (int64_t place = begin; place < end; ++place) {
        const uint32_t lot = hash_of(step.seed, step.place + first + place);
        list_classes(step, first + place, lot, step.next.slots[place]);
        draw_inputs(step, lot, step.next.slots[place]);
    }
}

// Scoring: losses of the few classes of a row, and their gradients.

// Scores of a row for one input, which become gradients.
struct Scores {
    float* scores;
    const float* own;  // what the row's own classes count
    int n_own, n_near, n;
    float stands_for;  // of how many classes each random one is an example
};

// The target is shared by the row's own classes. Smoothing spreads a share of it over all classes. A
// row that has no class says nothing.
float softmax_loss(const Scores& row, float smoothing, float n_all) {
    const int n = padded(row.n);
    float gains = 0;
    for (int m = 0; m < row.n_own; ++m) gains += row.own[m];
    if (gains == 0) {
        scale(row.scores, n, 0);
        return 0;
    }
    const float target = (1 - smoothing) / gains, spread = smoothing / n_all;
    for (int m = row.n; m < n; ++m) row.scores[m] = no_score;
    const float top = largest(row.scores, n);
    float wanted = 0;
    for (int m = 0; m < row.n_own; ++m) wanted += target * row.own[m] * row.scores[m];
    const auto spread_of = [&](int m) { return m < row.n_near ? spread : spread * row.stands_for; };
    if (smoothing > 0)
        for (int m = 0; m < row.n; ++m) wanted += row.scores[m] * spread_of(m);
    const float total = exponentials(row.scores, n, top);
    scale(row.scores, n, 1 / total);
    for (int m = 0; m < row.n_own; ++m) row.scores[m] -= target * row.own[m];
    if (smoothing > 0)
        for (int m = 0; m < row.n; ++m) row.scores[m] -= spread_of(m);
    return __builtin_logf(total) + top - wanted;
}

// Each class has a loss of its own.
float sigmoid_loss(const Scores& row) {
    for (int m = 0; m < row.n; m += width) store(row.scores + m, sigmoid(load(row.scores + m)));
    float loss = 0;
    for (int m = 0; m < row.n_own; ++m) {
        const float likely = row.scores[m] > unlikely ? row.scores[m] : unlikely;
        loss -= row.own[m] * __builtin_logf(likely);
        row.scores[m] = row.own[m] * (row.scores[m] - 1);
    }
    double none = 1;  // chance of no class: a logarithm of each would take longer
    for (int m = row.n_own; m < row.n; ++m) {
        const float factor = m < row.n_near ? 1 : row.stands_for;
        none *= 1.0 - static_cast<double>(row.scores[m] < sure ? row.scores[m] : sure);
        row.scores[m] *= factor;
        if (m == row.n_near - 1 || m == row.n - 1 || m % width == 0) {
            loss -= factor * static_cast<float>(__builtin_log(none));
            none = 1;
        }
    }
    return loss;
}

// Write the scores of four classes for some inputs: all sums stay in registers.
template <int n_inputs>
DSNC_INLINE void score_four(const float* const* vectors, const float* inputs, int n_columns, Four offsets,
                            int stride, float* scores) {
    Floats sums[n_inputs][4] = {};
    for (int j = 0; j < n_columns; j += width) {
        Floats vector[4];
        for (int i = 0; i < 4; ++i) vector[i] = load(vectors[i] + j);
        for (int s = 0; s < n_inputs; ++s) {
            const Floats input = load(inputs + s * n_columns + j);
            for (int i = 0; i < 4; ++i) sums[s][i] = vector[i] * input + sums[s][i];
        }
    }
    for (int s = 0; s < n_inputs; ++s) {
        const Four four = offsets + sum(sums[s][0], sums[s][1], sums[s][2], sums[s][3]);
        std::memcpy(scores + s * stride, &four, sizeof four);
    }
}

// Write the scores of a row's classes for all of its inputs, four classes at a time.
void find_scores(const Step& step, const Slot& slot, float raised) {
    constexpr int together = register_size == 64 ? 2 : 1;  // inputs, as far as registers go
    const int n_columns = step.sizes.width, n_inputs = step.sizes.n_inputs;
    for (int m = 0; m < slot.n_classes; m += 4) {
        const float* vectors[4];
        Four offsets;
        for (int i = 0; i < 4; ++i) {
            const int last = slot.n_classes - 1, later = m + i + ahead;
            const int32_t k = slot.classes[m + i < last ? m + i : last];
            vectors[i] = step.weights.classes + int64_t{k} * n_columns;
            offsets[i] = step.weights.class_bias[k] + (m + i < slot.n_near ? 0 : raised);
            fetch(step.weights.classes + int64_t{slot.classes[later < last ? later : last]} * n_columns,
                  n_columns);
        }
        int s = 0;
        for (; s + together <= n_inputs; s += together)
            score_four<together>(vectors, slot.inputs + s * n_columns, n_columns, offsets, step.most,
                                 slot.scores + s * step.most + m);
        for (; s < n_inputs; ++s)
            score_four<1>(vectors, slot.inputs + s * n_columns, n_columns, offsets, step.most,
                          slot.scores + s * step.most + m);
    }
}

// Add up the gradients of a row's scores over the inputs, and list the classes that they move.
void find_movers(const Step& step, Slot& slot) {
    slot.n_movers = 0;
    for (int m = 0; m < slot.n_classes; m += width) {
        Floats total{}, most{};
        for (int s = 0; s < step.sizes.n_inputs; ++s) {
            const Floats gradient = load(slot.scores + s * step.most + m);
            total = total + gradient;
            most = larger(most, larger(gradient, -gradient));
        }
        store(slot.totals + m, total);
        const int left = slot.n_classes - m;
        uint32_t moves = ~above_zero(all(tiny) - most) & 0xffff;
        if (left < width) moves &= (1u << left) - 1;
        for (; moves != 0; moves &= moves - 1) slot.movers[slot.n_movers++] = m + __builtin_ctz(moves);
    }
}

// Write the gradient of a row's logits: that of its bits, straight through.
void find_gradient(const Step& step, const Space& space, const Slot& slot) {
    int n = 0;
    for (int m = 0; m < slot.n_classes; ++m) {
        space.classes[n] = slot.classes[m];
        space.shares[n] = slot.totals[m];
        n += __builtin_fabsf(slot.totals[m]) >= tiny;
    }
    const int n_columns = step.sizes.width;
    add_up({step.weights.classes, n_columns, space.classes, space.shares, n, n, nullptr}, slot.gradient);
    for (int j = 0; j < n_columns; j += width) {
        const Floats chance = load(slot.chances + j);
        const Floats slope = chance * all(2.0f) * (all(1.0f) - chance);
        store(slot.gradient + j, load(slot.gradient + j) * slope);
    }
}

float score(const Step& step, const Space& space, int64_t place) {
    Slot& slot = step.now.slots[place];
    const Plan& plan = step.plan;
    const int64_t row = step.now.first + place;
    const int n_random = slot.n_classes - slot.n_near;
    const auto n_others = static_cast<float>(step.sizes.n_classes - slot.n_near);
    const float stands_for = n_others / static_cast<float>(n_random > 1 ? n_random : 1);
    find_scores(step, slot, plan.each_alone ? 0 : __builtin_logf(stands_for));
    const float* const own = step.rows.gains + step.rows.starts[row];
    const auto n_all = static_cast<float>(step.sizes.n_classes);
    float loss = 0;
    for (int s = 0; s < step.sizes.n_inputs; ++s) {
        const bool is_drawn = s < plan.n_draws;
        const float share =
            is_drawn ? (1 - plan.soft_share) / static_cast<float>(plan.n_draws) : plan.soft_share;
        const Scores scores{
            slot.scores + s * step.most, own, slot.n_own, slot.n_near, slot.n_classes, stands_for};
        loss +=
            share * (plan.each_alone ? sigmoid_loss(scores) : softmax_loss(scores, plan.smoothing, n_all));
        scale(scores.scores, padded(slot.n_classes), share * step.rows.weight[row]);
    }
    find_movers(step, slot);
    if (plan.moves_encoder) find_gradient(step, space, slot);
    return loss * step.rows.weight[row];
}

// Moving.

void write_code(const Planes& codes, int64_t k, const float* vector, int n_columns) {
    uint8_t* const place = codes.bytes + k / block_size * codes.n_planes * block_size + k % block_size;
    for (int j = 0; j < n_columns; j += width) {
        const uint32_t bits = above_zero(load(vector + j));
        place[j / 8 * block_size] = static_cast<uint8_t>(bits);
        place[(j / 8 + 1) * block_size] = static_cast<uint8_t>(bits >> 8);
    }
}

// Write the gradients of n class vectors; return the sums of their squares.
template <int n>
DSNC_INLINE Four mix(const Step& step, const Slot& slot, const int32_t* places, float* gradients) {
    const int n_columns = step.sizes.width;
    Floats squares[4] = {};
    for (int j = 0; j < n_columns; j += width) {
        Floats sums[n] = {};
        for (int s = 0; s < step.sizes.n_inputs; ++s) {
            const Floats input = load(slot.inputs + s * n_columns + j);
            const float* const scores = slot.scores + s * step.most;
            for (int i = 0; i < n; ++i) sums[i] = all(scores[places[i]]) * input + sums[i];
        }
        for (int i = 0; i < n; ++i) {
            store(gradients + i * n_columns + j, sums[i]);
            squares[i] = sums[i] * sums[i] + squares[i];
        }
    }
    return sum(squares[0], squares[1], squares[2], squares[3]);
}

// Move n classes of a row, which are not the same.
template <int n>
DSNC_INLINE void move_some(const Step& step, const Slot& slot, const int32_t* places, float* gradients) {
    const int n_columns = step.sizes.width;
    const Four mixed = mix<n>(step, slot, places, gradients) / static_cast<float>(step.plan.n_bits);
    Four squares = {}, of_bias = {}, totals = {};
    for (int i = 0; i < n; ++i) {
        squares[i] = step.squares.classes[slot.classes[places[i]]];
        of_bias[i] = step.squares.class_bias[slot.classes[places[i]]];
        totals[i] = slot.totals[places[i]];
    }
    squares = step.plan.fading * squares + mixed;
    of_bias = totals * totals + of_bias;
    const Four sizes = step.class_rate / root(squares + least_square);
    const float bias_rate = step.class_rate * step.plan.bias_rate;
    const Four of_biases = bias_rate / root(of_bias + least_square) * totals;
    for (int i = 0; i < n; ++i) {
        const int32_t k = slot.classes[places[i]];
        step.squares.classes[k] = squares[i];
        step.squares.class_bias[k] = of_bias[i];
        step.weights.class_bias[k] -= of_biases[i];
        float* const weights = step.weights.classes + int64_t{k} * n_columns;
        if (move(weights, gradients + i * n_columns, n_columns, -sizes[i]))
            write_code(step.codes, k, weights, n_columns);
    }
}

DSNC_INLINE bool are_different(const Slot& slot, const int32_t* places) {
    const int32_t a = slot.classes[places[0]], b = slot.classes[places[1]];
    const int32_t c = slot.classes[places[2]], d = slot.classes[places[3]];
    return (a != b) & (a != c) & (a != d) & (b != c) & (b != d) & (c != d);
}

// Move classes of a row, in their order: one that was drawn twice is moved twice.
void move_classes_of(const Step& step, const Slot& slot, const int32_t* places, int n, float* gradients) {
    int x = 0;
    for (; x + 4 <= n; x += 4) {
        for (int i = 0; i < 4; ++i) {
            const int later = x + i + ahead < n ? x + i + ahead : n - 1;
            claim(step.weights.classes + int64_t{slot.classes[places[later]]} * step.sizes.width,
                  step.sizes.width);
        }
        if (are_different(slot, places + x)) move_some<4>(step, slot, places + x, gradients);
        else
            for (int i = 0; i < 4; ++i) move_some<1>(step, slot, places + x + i, gradients);
    }
    for (; x < n; ++x) move_some<1>(step, slot, places + x, gradients);
}

// Tell whose a class or feature is: by a hash, without a division.
DSNC_INLINE bool is_in(Share share, int32_t number) {
    const uint32_t mixed = (static_cast<uint32_t>(number) >> apart) * 0x9E3779B1;
    return (static_cast<uint64_t>(mixed) * share.n) >> 32 == share.number;
}

void move_classes(const Step& step, const Space& space, Share share) {
    for (int64_t place = 0; place < step.now.n; ++place) {
        const Slot& slot = step.now.slots[place];
        const int32_t* mine = slot.movers;
        int n = slot.n_movers;
        if (share.n > 1) {
            n = 0;
            mine = space.classes;
            for (int x = 0; x < slot.n_movers; ++x) {
                space.classes[n] = slot.movers[x];
                n += is_in(share, slot.classes[slot.movers[x]]);
            }
        }
        move_classes_of(step, slot, mine, n, space.vectors);
    }
}

// Features of a row that are moved, and their values; which become factors of the gradient.
struct Entries {
    const int32_t* features;
    const float* values;
    int64_t n;
};

// Update the squares of features, and write the sizes of their steps: some at once, where they
// ascend, and so are not the same.
void find_sizes(const Step& step, const Entries& entries, float square, float* sizes) {
    constexpr int some = width;
    const int32_t* const features = entries.features;
    int64_t p = 0;
    for (; p + some <= entries.n; p += some) {
        bool ascends = true;
        for (int i = 1; i < some; ++i) ascends &= features[p + i - 1] < features[p + i];
        if (!ascends) break;
        float squares[some];
        for (int i = 0; i < some; ++i) squares[i] = step.squares.encoder[features[p + i]];
        for (int i = 0; i < some; ++i) {
            const float value = entries.values[p + i];
            squares[i] = step.plan.fading * squares[i] + square * value * value;
            sizes[p + i] = -step.encoder_rate * value / __builtin_sqrtf(squares[i] + least_square);
        }
        for (int i = 0; i < some; ++i) step.squares.encoder[features[p + i]] = squares[i];
    }
    for (; p < entries.n; ++p) {
        float& squares = step.squares.encoder[features[p]];
        const float value = entries.values[p];
        squares = step.plan.fading * squares + square * value * value;
        sizes[p] = -step.encoder_rate * value / __builtin_sqrtf(squares + least_square);
    }
}

// Add n times sixteen columns of a row to those of some rows of a matrix, multiplied by factors.
template <int n>
DSNC_INLINE void move_columns(float* matrix, int n_columns, const int32_t* which, const float* factors,
                              int64_t n_rows, const float* x) {
    Floats added[n];
    for (int v = 0; v < n; ++v) added[v] = load(x + v * width);
    for (int64_t p = 0; p < n_rows; ++p) {
        const int64_t later = p + ahead < n_rows ? p + ahead : n_rows - 1;
        claim(matrix + int64_t{which[later]} * n_columns, n * width);
        float* const row = matrix + int64_t{which[p]} * n_columns;
        const Floats factor = all(factors[p]);
        for (int v = 0; v < n; ++v) store(row + v * width, factor * added[v] + load(row + v * width));
    }
}

void move_features_of(const Step& step, const Space& space, const Entries& entries, const float* gradient,
                      float square) {
    const int n_columns = step.sizes.width;
    for (int64_t begin = 0; begin < entries.n; begin += entries_at_once) {
        const int64_t n = entries.n - begin < entries_at_once ? entries.n - begin : entries_at_once;
        const int32_t* const features = entries.features + begin;
        find_sizes(step, {features, entries.values + begin, n}, square, space.sizes);
        float* const matrix = step.weights.encoder;
        int j = 0;
        for (; j + 4 * width <= n_columns; j += 4 * width)
            move_columns<4>(matrix + j, n_columns, features, space.sizes, n, gradient + j);
        for (; j + 2 * width <= n_columns; j += 2 * width)
            move_columns<2>(matrix + j, n_columns, features, space.sizes, n, gradient + j);
        for (; j < n_columns; j += width)
            move_columns<1>(matrix + j, n_columns, features, space.sizes, n, gradient + j);
    }
}

// Move a share of the features of a row, some at a time.
void move_share(const Step& step, const Space& space, const Entries& entries, const float* gradient,
                float square, Share share) {
    int64_t n = 0;
    for (int64_t p = 0; p < entries.n; ++p) {
        space.features[n] = entries.features[p];
        space.values[n] = entries.values[p];
        n += is_in(share, entries.features[p]);
        if (n < entries_at_once && p + 1 < entries.n) continue;
        move_features_of(step, space, {space.features, space.values, n}, gradient, square);
        n = 0;
    }
}

void move_features(const Step& step, const Space& space, Share share) {
    const int n_columns = step.sizes.width;
    for (int64_t place = 0; place < step.now.n; ++place) {
        const float* const gradient = step.now.slots[place].gradient;
        const float square = dot(gradient, gradient, n_columns) / static_cast<float>(step.plan.n_bits);
        if (square == 0) continue;
        if (share.number == 0) {
            *step.squares.bias += square;
            const float size = step.encoder_rate / __builtin_sqrtf(*step.squares.bias + least_square);
            add_scaled(step.weights.bias, gradient, n_columns, -size);
        }
        const int64_t* const begin = step.rows.indptr + step.now.first + place;
        const Entries entries{step.rows.indices + *begin, step.rows.values + *begin, begin[1] - *begin};
        if (share.n == 1) move_features_of(step, space, entries, gradient, square);
        else move_share(step, space, entries, gradient, square, share);
    }
}

void lay_out(const Step& step) {
    const int n_columns = step.sizes.width;
    for (int64_t k = 0; k < step.sizes.n_classes; ++k)
        write_code(step.codes, k, step.weights.classes + k * n_columns, n_columns);
}

}  // namespace

void add_training(TrainingKernels& table) noexcept {
    table.lay_out = lay_out;
    table.prepare = prepare;
    table.score = score;
    table.move_classes = move_classes;
    table.move_features = move_features;
    table.probabilities = [](float* out, const float* x, int n, float sharpness) {
        probabilities(out, x, n, sharpness);
    };
    table.exponentials = [](float* x, int n, float top) { return exponentials(x, n, top); };
    table.draw = [](float* out, const float* chances, int n, uint32_t seed, uint32_t place) {
        draw(out, chances, n, seed, place);
    };
    table.move = [](float* out, const float* x, int n, float factor) { return move(out, x, n, factor); };
}

}  // namespace dsnc::LEVEL
