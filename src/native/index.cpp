// Which queries are looked up and which are scanned, and the memory that both need.
#include "index.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr int64_t block = 512;             // codes of a block of planes
constexpr int64_t fewest_codes = 4096;     // fewer are scanned faster than they are looked up
constexpr int64_t least_share = 64;        // a list of more than one in so many codes is scanned
                                           // faster than looked up
constexpr int64_t least_radius = 400;      // codes, twice as many for each bit of slack, below which
                                           // scanning is faster
constexpr int64_t patience = 1 << 28;      // bytes to compare before tables pay: some 10 ms
constexpr int64_t later = 1024;            // codes that may come after the tables were made
constexpr int wide_bits = 576;             // from here on, distances beyond a byte are to be expected
constexpr int64_t saturated = 255;
constexpr int64_t tile = 128;              // blocks whose distances are kept until the nearest is known
constexpr int64_t fewest_counted = 2;      // entries of a list from which on counting beats insertion

// Scratch space that stays with a thread: making it takes longer than to search for one query.
struct Scratch {
    std::vector<uint8_t> sums, done;
    std::vector<int64_t> lows, rows, values, buckets, counts, noted, best;
    std::vector<uint64_t> signs;
};

thread_local Scratch scratch;

// Make room for n numbers; those that come are `nothing`.
void grow(std::vector<int64_t>& numbers, int64_t n) {
    if (static_cast<int64_t>(numbers.size()) < n) numbers.resize(n, nothing);
}

}  // namespace

Index::Index(const Codes& codes, Method method)
    : codes_(codes),
      method_(method),
      n_planes_(4 * ((codes.n_bits + 31) / 32)),
      n_blocks_((codes.n + block - 1) / block),
      planes_(n_blocks_ * n_planes_ * block),
      patience_(patience) {
    kernels->search.fill_planes(codes_, n_planes_, planes_.data());
}

Index::Index(const Codes& codes, const Index& before)
    : codes_(codes),
      method_(before.method_),
      n_planes_(before.n_planes_),
      n_blocks_((codes.n + block - 1) / block),
      planes_(n_blocks_ * n_planes_ * block),
      patience_(patience) {
    const int64_t done = before.codes_.n / block;  // blocks that stay as they are
    std::copy_n(before.planes_.begin(), done * n_planes_ * block, planes_.begin());
    Codes rest = codes_;
    rest.words += done * block * rest.n_words;
    rest.n -= done * block;
    kernels->search.fill_planes(rest, n_planes_, planes_.data() + done * n_planes_ * block);
    const std::shared_ptr<const Tables> tables = before.tables();
    if (tables != nullptr && codes_.n - tables->view().n <= later) use(tables);
    else if (method_ == Method::multi_index) prepare();
}

std::shared_ptr<const Tables> Index::tables() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tables_;
}

void Index::use(std::shared_ptr<const Tables> tables) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    tables_ = std::move(tables);
}

void Index::prepare() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (tables_ == nullptr) tables_ = std::make_shared<const Tables>(codes_);
}

int64_t Index::n_bytes() const { return static_cast<int64_t>(planes_.size()); }

bool Index::is_wide(int64_t k, int64_t slack) const {
    if (k == 1 || method_ == Method::multi_index) return false;
    const int64_t far = slack < no_slack ? least_radius << std::min<int64_t>(slack, 32) : 0;
    return codes_.n < std::max(least_share * k, far);
}

// Make the tables if that is worth it by now.
void Index::may_prepare(int64_t n_queries, int64_t k, int64_t slack) const {
    if (method_ == Method::scan || codes_.n < fewest_codes || is_wide(k, slack)) return;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (tables_ != nullptr) return;
        patience_ -= n_queries * n_bytes();
        if (patience_ >= 0) return;
    }
    prepare();
}

ProbeCounts Index::probe(const uint64_t* queries, int64_t n, const Lists& lists, bool* done) const {
    std::fill_n(done, n, false);
    if (is_wide(lists.k, lists.slack)) return {};
    const std::shared_ptr<const Tables> tables = this->tables();
    if (tables == nullptr) return {};
    const MultiIndex view = tables->view();
    scratch.values.resize(probes_at_once * view.n_chunks);
    scratch.signs.resize(2 * view.n_chunks);
    scratch.buckets.resize(2 * probes_at_once);
    const ProbeSpace space{scratch.values.data(), scratch.signs.data(), scratch.buckets.data()};
    return kernels->search.probe(codes_, view, queries, n, lists, done, space);
}

void Index::search(const uint64_t* queries, int64_t n, const Lists& lists, int64_t n_owners) const {
    may_prepare(n, lists.k, lists.slack);
    scratch.done.resize(n);
    bool* const done = reinterpret_cast<bool*>(scratch.done.data());
    probe(queries, n, lists, done);
    scratch.rows.clear();
    for (int64_t i = 0; i < n; ++i)
        if (!done[i]) scratch.rows.push_back(i);
    if (!scratch.rows.empty() && codes_.n > 0) scan(queries, scratch.rows, lists, n_owners);
}

void Index::scan(const uint64_t* queries, const std::vector<int64_t>& rows, const Lists& lists,
                 int64_t n_owners) const {
    const int64_t n_rows = static_cast<int64_t>(rows.size());
    if (codes_.n_bits >= wide_bits) {
        kernels->search.scan_words(codes_, queries, rows.data(), n_rows, lists);
        return;
    }
    Scan task{codes_, planes_.data(), n_blocks_, n_planes_, queries, rows.data(), n_rows,
              lists,  n_blocks_,      nullptr,   nullptr,   nullptr, nullptr,     nullptr};
    if (lists.k >= fewest_counted) {
        grow(scratch.counts, 8 * n_planes_ + 1);
        grow(scratch.noted, codes_.n);
        grow(scratch.best, lists.labels == nullptr ? 0 : n_owners);
        task.counts = scratch.counts.data();
        task.noted = scratch.noted.data();
        task.best = scratch.best.data();
    } else {
        // The nearest of many codes is worth waiting for where it tells which others can enter.
        const bool tells = lists.slack < no_slack || lists.k == 1;
        task.tile = tells ? std::min(tile, n_blocks_) : 1;
    }
    if (static_cast<int64_t>(scratch.sums.size()) < 2 * task.tile * block)
        scratch.sums.resize(2 * task.tile * block);
    grow(scratch.lows, 2 * task.tile);
    task.sums = scratch.sums.data();
    task.lows = scratch.lows.data();
    kernels->search.scan(task);
    if (codes_.n_bits > saturated) scan_again(queries, rows, lists);
}

// A distance that does not fit a byte was cut: lists that may hold one are made anew.
void Index::scan_again(const uint64_t* queries, const std::vector<int64_t>& rows, const Lists& lists) const {
    std::vector<int64_t> cut;
    for (const int64_t i : rows) {
        int64_t *keys = lists.keys_of(i), *owners = lists.owners_of(i);
        const int64_t last = keys[lists.k - 1] >> row_bits, first = keys[0] >> row_bits;
        if (std::min(last, first + lists.slack) < saturated) continue;
        std::fill_n(keys, lists.k, nothing);
        std::fill_n(owners, lists.k, int64_t{-1});
        cut.push_back(i);
    }
    if (!cut.empty())
        kernels->search.scan_words(codes_, queries, cut.data(), static_cast<int64_t>(cut.size()), lists);
}

}  // namespace dsnc
