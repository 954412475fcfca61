// Runs the steps of training over some thousand rows at a time.
//
// Phases take turns: in one, the rows of a batch are scored and those of the next one are made ready;
// in the other, classes and features are moved. Class vectors are the business of the threads that
// take pieces from the front, the encoder that of those that take them from the back: most of what
// one core writes, no other has to read.
#include "trainer.hpp"

#include <algorithm>

namespace dsnc {
namespace {

constexpr int lanes = 16;  // numbers that vectors have a multiple of
constexpr int64_t most_pieces = 512;  // that the rows of a batch are scored in
constexpr uint32_t shares = 2;  // of a thread: who has time moves more of them

int64_t up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

float between(const float* ends, float passed) { return ends[0] + (ends[1] - ends[0]) * passed; }

}  // namespace

Trainer::Trainer(const Plan& plan, const Sizes& sizes, const Weights& weights, const Weights& squares,
                 int64_t batch_size, int n_threads)
    : batch_size_(batch_size), pace_(n_threads) {
    step_.plan = plan;
    step_.sizes = sizes;
    step_.weights = weights;
    step_.squares = squares;
    const int64_t n_blocks = up(sizes.n_classes, block_size) / block_size;
    const int n_planes = planes_of(plan.n_bits);
    step_.codes = {planes_.make(size_t(n_blocks * n_planes * block_size)), sizes.n_classes, n_blocks,
                   plan.n_bits, n_planes};
    at_once_ = up(batch_size, most_pieces) / most_pieces;
    losses_.resize(size_t(batch_size));
    own_.resize(size_t(n_threads));
    for (Own& own : own_) {
        own.space.scan = own.scan.make(plan.n_bits, sizes.n_classes, sizes.n_nearest, 2, 0);
        own.space.keys = own.keys.make(2 * size_t(sizes.n_nearest));
        own.space.vectors = own.vectors.make(4 * size_t(sizes.width));
        own.space.features = own.features.make(entries_at_once);
        own.space.values = own.values.make(entries_at_once);
        own.space.sizes = own.sizes.make(entries_at_once);
    }
    read_codes();
}

// Make room for rows that are scored with so many classes.
void Trainer::make_room(int most) {
    if (most <= step_.most) return;
    step_.most = most;
    make_slots(most);
    for (Own& own : own_) {
        own.space.shares = own.shares.make(size_t(most));
        own.space.classes = own.classes.make(size_t(most));
    }
}

void Trainer::make_slots(int most) {
    const Sizes& sizes = step_.sizes;
    const size_t n = 2 * size_t(batch_size_), width = size_t(sizes.width);
    const size_t n_inputs = size_t(sizes.n_inputs);
    const size_t of_bytes = size_t(up(std::max(step_.codes.n_planes, sizes.width / 8), 64));
    const size_t of_floats = (3 + n_inputs) * width + (n_inputs + 1) * size_t(most);
    bytes_.make(n * of_bytes);
    floats_.make(n * of_floats);
    ints_.make(n * 2 * size_t(most));
    slots_.assign(n, Slot{});
    for (size_t i = 0; i < n; ++i) {
        Slot& slot = slots_[i];
        float* floats = floats_.get() + i * of_floats;
        const auto take = [&floats](size_t size) { return floats += size, floats - size; };
        slot.logits = take(width);
        slot.chances = take(width);
        slot.gradient = take(width);
        slot.inputs = take(n_inputs * width);
        slot.scores = take(n_inputs * size_t(most));
        slot.totals = take(size_t(most));
        slot.bytes = bytes_.get() + i * of_bytes;
        slot.classes = ints_.get() + i * 2 * size_t(most);
        slot.movers = slot.classes + most;
    }
}

double Trainer::run(const Rows& rows, const Rates& rates, uint64_t seed, int64_t place, bool searches) {
    int64_t most = 0;
    for (int64_t i = 0; i < rows.n; ++i) most = std::max(most, rows.starts[i + 1] - rows.starts[i]);
    make_room(static_cast<int>(up(most + step_.sizes.n_nearest + step_.plan.n_uniform, lanes)));
    step_.rows = rows;
    step_.seed = seed;
    step_.place = place;
    step_.searches = searches;
    step_.now = {slots_.data(), 0, 0};
    step_.next = {slots_.data() + batch_size_, -batch_size_, 0};  // in front of the first one
    rates_ = rates;
    is_moving_ = true;
    std::fill(losses_.begin(), losses_.end(), 0.0);
    run_phases(*this, pace_);
    double total = 0;
    for (const double loss : losses_) total += loss;
    return total;
}

uint32_t Trainer::next(int n_threads) {
    is_moving_ = !is_moving_ && step_.now.n > 0;
    return is_moving_ ? begin_moving(n_threads) : begin_scoring();
}

// Score the batch that was made ready, and make the next one ready.
uint32_t Trainer::begin_scoring() {
    std::swap(step_.now, step_.next);
    step_.next.first = step_.now.first + batch_size_;
    step_.next.n = std::clamp<int64_t>(step_.rows.n - step_.next.first, 0, batch_size_);
    n_to_score_ = static_cast<uint32_t>(up(step_.now.n, at_once_) / at_once_);
    return n_to_score_ + static_cast<uint32_t>(up(step_.next.n, 2 * at_once_) / (2 * at_once_));
}

uint32_t Trainer::begin_moving(int n_threads) {
    const float passed = static_cast<float>(step_.now.first) / static_cast<float>(step_.rows.n);
    step_.encoder_rate = between(rates_.encoder, passed);
    step_.class_rate = between(rates_.classes, passed);
    n_of_classes_ = n_threads == 1 ? 1 : shares * static_cast<uint32_t>(n_threads);
    n_of_features_ = n_threads == 1 ? 1 : static_cast<uint32_t>(n_threads);
    return n_of_classes_ + (step_.plan.moves_encoder ? n_of_features_ : 0);
}

void Trainer::work(uint32_t piece, int thread) {
    const Space& space = own_[size_t(thread)].space;
    const TrainingKernels& with = kernels->training;
    if (is_moving_) {
        if (piece < n_of_classes_) with.move_classes(step_, space, {piece, n_of_classes_});
        else with.move_features(step_, space, {piece - n_of_classes_, n_of_features_});
    } else if (piece < n_to_score_) {
        const int64_t begin = piece * at_once_, end = std::min(step_.now.n, begin + at_once_);
        for (int64_t i = begin; i < end; ++i) losses_[size_t(i)] += with.score(step_, space, i);
    } else {
        const int64_t begin = (piece - n_to_score_) * 2 * at_once_;
        with.prepare(step_, space, begin, std::min(step_.next.n, begin + 2 * at_once_));
    }
}

}  // namespace dsnc
