#include "ranking.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr int64_t most_keys = 1 << 16;  // of the rows that are ranked at a time

constexpr int64_t most_likely = 1 << 13;  // codes that are found by looking likely ones up
constexpr int widest = 32;              // bits of a chunk
constexpr int64_t window = 4;  // times as many codes as are wanted are put in order at a time
// Nearer than any class that is no candidate.
constexpr int64_t beyond = int64_t{1} << 21 << row_bits;

// What a thread needs for some rows.
struct Block {
    std::vector<uint64_t> words;
    std::vector<int64_t> keys, owners;
    std::vector<float> soft;
    // Of a search for likely codes.
    std::vector<int64_t> found, rows, buckets;
    std::vector<uint32_t> values, bits, costs;
    std::vector<bool> is_listed;  // of each class; none between two queries
};

thread_local Block block;

// Sets of ranks in the order of their sums, the empty one first.
//
// A set is one of a smaller sum and a rank above its last; rank r adds r + 1.
std::vector<Flip> make_flips(int64_t n) {
    std::vector<Flip> flips = {{0, 0}};
    std::vector<int> sums = {0}, next = {0};  // of each set; the least rank that may follow
    for (int sum = 1; static_cast<int64_t>(flips.size()) < n; ++sum) {
        const size_t n_before = flips.size();
        for (size_t before = 0; before < n_before; ++before) {
            const int rank = sum - sums[before] - 1;
            if (rank < next[before] || rank >= widest) continue;
            flips.push_back({static_cast<uint16_t>(before), static_cast<uint8_t>(rank)});
            sums.push_back(sum);
            next.push_back(rank + 1);
        }
    }
    flips.resize(n);
    return flips;
}

// Put the nearest code of each owner into a list that is free, as far as it is long; return how many
// owners that are.
int64_t list_nearest(int64_t n, const Lists& lists, int64_t query) {
    int64_t *found = block.found.data(), *const end = found + n;
    int64_t *keys = lists.keys_of(query), *owners = lists.owners_of(query);
    int64_t n_listed = 0;
    while (found < end && n_listed < lists.k) {
        int64_t* const last = found + std::min<int64_t>(end - found, window * lists.k);
        if (last < end) std::nth_element(found, last, end);
        std::sort(found, last);
        for (; found < last && n_listed < lists.k; ++found) {
            const int64_t owner = lists.owner_of(*found);
            if (block.is_listed[owner]) continue;
            block.is_listed[owner] = true;
            keys[n_listed] = *found;
            owners[n_listed++] = owner;
        }
    }
    for (int64_t entry = 0; entry < n_listed; ++entry) block.is_listed[owners[entry]] = false;
    return n_listed;
}

}  // namespace

Shortlist::Shortlist(const Index& index, const int64_t* labels, int64_t n_classes, const Scoring& scoring,
                     const Settings& settings)
    : index_(index),
      labels_(labels),
      n_classes_(n_classes),
      scoring_(scoring),
      settings_(settings),
      flips_(make_flips(settings.n_flips)) {}

// Fill a list with the next classes by distance, which are no candidates if there are others.
void Shortlist::append_exactly(const uint64_t* query, const Lists& lists, int64_t i, int64_t n_found) const {
    std::vector<int64_t> keys(lists.k, nothing), owners(lists.k, -1);
    index_.search(query, 1, {labels_, lists.k, keys.data(), owners.data()}, n_classes_);
    int64_t *const listed = lists.owners_of(i), n = n_found;
    for (int64_t entry = 0; entry < lists.k && n < lists.k; ++entry) {
        if (std::find(listed, listed + n_found, owners[entry]) < listed + n_found) continue;
        lists.keys_of(i)[n] = keys[entry] + (n_found > 0 && keys[entry] != nothing ? beyond : 0);
        listed[n++] = owners[entry];
    }
}

// List the classes of likely codes; a row for which there are none, or too few, is searched for exactly.
void Shortlist::list_likely(const uint64_t* queries, const float* logits, int64_t n, const Lists& lists,
                            bool widen) const {
    const Codes& codes = index_.codes();
    index_.prepare();
    const std::shared_ptr<const Tables> tables = index_.tables();
    const MultiIndex view = tables->view();
    block.found.resize(most_likely);
    block.rows.resize(most_likely);
    block.buckets.resize(2 * settings_.n_flips);
    block.values.resize(view.n_chunks * settings_.n_flips);
    block.bits.resize(codes.n_bits);
    block.costs.resize(2048 * codes.n_words);
    block.is_listed.resize(n_classes_);
    const LikelyCodes task{codes,
                           view,
                           flips_.data(),
                           settings_.n_flips,
                           most_likely,
                           block.found.data(),
                           block.rows.data(),
                           block.buckets.data(),
                           block.values.data(),
                           block.bits.data(),
                           block.costs.data()};
    for (int64_t i = 0; i < n; ++i) {
        const uint64_t* const query = queries + i * codes.n_words;
        const int64_t n_found = kernels->search.find_likely(task, query, logits + i * codes.n_bits);
        const int64_t n_listed = list_nearest(n_found, lists, i);
        if (n_listed == 0 || (widen && n_listed < lists.k)) append_exactly(query, lists, i, n_listed);
    }
}

// Make the lists of some rows at a time, and use them; false where a logit is not a number.
bool Shortlist::each_block(const float* logits, const uint64_t* words, int64_t n, int64_t length, bool widen,
                           const Use& use) const {
    const Codes& codes = index_.codes();
    const int64_t step = std::clamp<int64_t>(most_keys / length, 1, 1024);
    block.words.resize(std::min(n, step) * codes.n_words);
    for (int64_t first = 0; first < n; first += step) {
        const int64_t rows = std::min(step, n - first);
        const float* const numbers = logits + first * codes.n_bits;
        const uint64_t* queries = words == nullptr ? block.words.data() : words + first * codes.n_words;
        if (words == nullptr && kernels->search.pack(numbers, rows, codes.n_bits, block.words.data()))
            return false;
        block.keys.assign(rows * length, nothing);
        block.owners.assign(rows * length, -1);
        const Lists lists{labels_, length, block.keys.data(), block.owners.data()};
        if (settings_.n_flips > 0) list_likely(queries, numbers, rows, lists, widen);
        else index_.search(queries, rows, lists, n_classes_);
        use(first, rows, queries, lists);
    }
    return true;
}

bool Shortlist::rank(const float* logits, const uint64_t* words, int64_t n, bool widen,
                     const Answers& answers) const {
    const Codes& codes = index_.codes();
    const int64_t wanted = widen ? std::max(settings_.size, answers.k) : settings_.size;
    block.soft.resize(codes.n_bits);
    const auto use = [&](int64_t first, int64_t rows, const uint64_t* queries, const Lists& lists) {
        const int64_t place = first * answers.k;
        kernels->search.rank({codes, queries, logits + first * codes.n_bits, words != nullptr, lists,
                              settings_.size, beyond, scoring_, rows, answers.k, answers.classes + place,
                              answers.scores + place, answers.inside + first, block.soft.data()});
    };
    return each_block(logits, words, n, std::min(wanted, n_classes_), widen, use);
}

bool Shortlist::list(const float* logits, int64_t n, int64_t k, int64_t* classes, float* costs) const {
    const Codes& codes = index_.codes();
    const auto use = [&](int64_t first, int64_t rows, const uint64_t* queries, const Lists& lists) {
        std::copy_n(lists.owners, rows * k, classes + first * k);
        for (int64_t entry = 0; entry < rows * k; ++entry)
            lists.keys[entry] = lists.owners[entry] < 0 ? 0 : lists.keys[entry] & row_mask;
        kernels->search.doubt(codes, queries, lists.keys, logits + first * codes.n_bits, rows, k,
                              costs + first * k);
    };
    return each_block(logits, nullptr, n, k, false, use);
}

}  // namespace dsnc
