// Texts to rows: what `TextFeatures` knows after `fit`, and room to work in.
#include "hashed_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr size_t kept_points = size_t{1} << 20;  // of room that is kept
constexpr size_t in_front = 1;                   // of each text, for the border of its first word

size_t n_sizes(const GramSizes& sizes) {
    return sizes.longest ? size_t(sizes.longest - sizes.shortest + 1) : 0;
}

// The most n-grams of a text. A word has a border on both sides, and one at least before the next.
size_t most_grams(const Grams& grams, size_t size) {
    return n_sizes(grams.words) * size + n_sizes(grams.characters) * (2 * size + 1);
}

template <class T>
void make_room(std::vector<T>& numbers, size_t size) {
    if (numbers.size() < size) numbers.resize(std::max(size, 2 * numbers.size()));
}

}  // namespace

uint32_t* Block::add(size_t size, const uint8_t* kinds) {
    uint32_t* const points = add_points(size);
    texts_.emplace_back();
    change(texts_.size() - 1, points, size, kinds);
    return points;
}

uint32_t* Block::add_points(size_t size) {
    const size_t start = end_ + in_front;
    end_ = start + size;
    make_room(points_, end_ + padding);
    return points_.data() + start;
}

void Block::change(size_t i, const uint32_t* points, size_t size, const uint8_t* kinds) {
    texts_[i] = {static_cast<size_t>(points - points_.data()), size, kinds};
    longest_ = std::max(longest_, size);
}

void Block::clear() {
    texts_.clear();
    end_ = longest_ = 0;
}

Text Block::text(size_t i) {
    const Place& place = texts_[i];
    return {points_.data() + place.start, place.size, place.kinds};
}

TextRoom::TextRoom(size_t n_columns)
    : room(2 * room_for_grams),
      counts(n_columns),
      seen((n_columns + 63) / 64),
      blocks((n_columns + 4095) / 4096) {}

TextScratch TextRoom::scratch_for(size_t longest) {
    make_room(left, longest + padding);
    return {left.data(), room.data(), seen.data(), blocks.data(), counts.data()};
}

bool TextRoom::is_large() const { return left.size() > kept_points; }

HashedColumns::HashedColumns(const Grams& grams, const uint32_t* buckets, const float* idf, size_t n)
    : grams_(grams), known_(grams.n_buckets / 64), before_(known_.size() + 1), idf_(idf, idf + n) {
    for (size_t i = 0; i < n; ++i) known_[buckets[i] >> 6] |= uint64_t{1} << (buckets[i] & 63);
    for (size_t i = 0; i < known_.size(); ++i)
        before_[i + 1] = before_[i] + uint32_t(std::popcount(known_[i]));
    for (uint32_t times = 0; times < few_times; ++times)
        repeated_.push_back(grams.sublinear ? 1 + std::log(double(times)) : times);
}

void HashedColumns::weigh(Block& block, TextRoom& room, SparseRows& rows) const {
    const Columns columns{known_.data(), before_.data(), idf_.data(), idf_.size(), repeated_.data()};
    const TextScratch scratch = room.scratch_for(block.longest());
    size_t n = size_t(rows.starts.back());
    for (size_t i = 0; i < block.n_texts(); ++i) {
        const Text text = block.text(i);
        const size_t most = n + std::min(columns.n, most_grams(grams_, text.size));
        rows.columns.make_room(most);
        rows.data.make_room(most);
        n += kernels->text.weigh(grams_, columns, text, scratch, rows.columns.data() + n,
                                 rows.data.data() + n);
        rows.starts.push_back(int64_t(n));
    }
}

std::unique_ptr<TextRoom> HashedColumns::take_room() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<TextRoom>(idf_.size());
    std::unique_ptr<TextRoom> room = std::move(spare_.back());
    spare_.pop_back();
    return room;
}

void HashedColumns::give_back(std::unique_ptr<TextRoom> room) {
    if (room->is_large()) return;
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(room));
}

void count_texts(const Grams& grams, Block& block, TextRoom& room, Tally* tally, int32_t first) {
    const TextScratch scratch = room.scratch_for(block.longest());
    for (size_t i = 0; i < block.n_texts(); ++i)
        kernels->text.count(grams, block.text(i), scratch, tally, first + int32_t(i));
}

}  // namespace dsnc
