// Which queries are looked up and which are scanned, and the memory that both need.
#include "index.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr int64_t fewest_codes = 4096;  // fewer are scanned faster than they are looked up
constexpr int64_t least_share = 64;     // a list of more than one in so many codes is scanned faster
                                        // than looked up
constexpr int64_t patience = 1 << 28;   // bytes to compare before tables pay: some 10 ms
constexpr int64_t later = 1024;         // codes that may come after the tables were made
constexpr int wide_bits = 576;          // from here on, distances beyond a byte are to be expected
constexpr int most_of_a_byte = 254;     // bits of codes whose distances all fit one
constexpr int64_t most_noted = 1 << 14;  // codes that are noted for queries that are scanned together,
constexpr int64_t most_owned = 1 << 20;  // and owners of codes

// Scratch space that stays with a thread: making it takes longer than to search for one query.
struct Scratch {
    ScanRoom scan;
    std::vector<uint8_t> done;
    std::vector<int64_t> rows, values, buckets;
    std::vector<uint64_t> signs;
};

thread_local Scratch scratch;

Planes planes_for(const Codes& codes) {
    const int64_t n_blocks = (codes.n + block_size - 1) / block_size;
    return {nullptr, codes.n, n_blocks, codes.n_bits, planes_of(codes.n_bits)};
}

}  // namespace

Index::Index(const Codes& codes, Method method)
    : codes_(codes), method_(method), planes_(planes_for(codes)), patience_(patience) {
    lay_out(0);
}

Index::Index(const Codes& codes, const Index& before)
    : codes_(codes), method_(before.method_), planes_(planes_for(codes)), patience_(patience) {
    if (codes.n < before.codes_.n) throw std::invalid_argument("there are fewer codes than before");
    const int64_t n_whole = before.codes_.n / block_size;  // blocks that stay as they are
    lay_out(n_whole);
    std::copy_n(before.planes_.bytes, n_whole * planes_.n_planes * block_size, planes_.bytes);
    const std::shared_ptr<const Tables> tables = before.tables();
    if (tables != nullptr && codes_.n - tables->view().n <= later) use(tables);
    else if (method_ == Method::multi_index) prepare();
}

// Write the planes of all blocks but the first ones.
void Index::lay_out(int64_t n_done) {
    const int64_t of_a_block = int64_t{planes_.n_planes} * block_size;
    planes_.bytes = bytes_.make(static_cast<size_t>(planes_.n_blocks * of_a_block));
    Codes rest = codes_;
    rest.words += n_done * block_size * rest.n_words;
    rest.n -= n_done * block_size;
    kernels->search.fill_planes(rest, planes_.n_planes, planes_.bytes + n_done * of_a_block);
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

bool Index::is_long(int64_t k) const {
    return k > 1 && method_ != Method::multi_index && codes_.n < least_share * k;
}

// Make the tables if that is worth it by now.
void Index::may_prepare(int64_t n_queries, int64_t k) const {
    if (method_ == Method::scan || codes_.n < fewest_codes || is_long(k)) return;
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
    if (is_long(lists.k)) return {};
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
    may_prepare(n, lists.k);
    scratch.done.resize(n);
    bool* const done = reinterpret_cast<bool*>(scratch.done.data());
    probe(queries, n, lists, done);
    scratch.rows.clear();
    for (int64_t i = 0; i < n; ++i)
        if (!done[i]) scratch.rows.push_back(i);
    if (!scratch.rows.empty() && codes_.n > 0)
        scan(queries, scratch.rows, lists, n_owners, codes_.n_bits >= wide_bits);
}

// Make the lists of some queries anew.
//
// Where most distances fit a byte, those that do not are not found; lists that are not full then are
// made once more.
void Index::scan(const uint64_t* queries, const std::vector<int64_t>& rows, const Lists& lists,
                 int64_t n_owners, bool is_wide) const {
    // The one nearest code is that of the nearest owner.
    const int64_t* const labels = lists.k > 1 ? lists.labels : nullptr;
    // As many queries share each reading of the codes as have room to note down what they find.
    const int64_t room = std::min(most_noted / lists.k, labels ? most_owned / n_owners : most_noted);
    const int at_once = static_cast<int>(
        std::min(std::clamp<int64_t>(room, 2, queries_at_once), static_cast<int64_t>(rows.size())));
    const uint8_t* bytes[queries_at_once];
    int64_t* keys[queries_at_once];
    Scan task{planes_, 0, planes_.n_blocks, bytes, keys, 0, lists.k, labels, is_wide, {}};
    task.space = scratch.scan.make(codes_.n_bits, codes_.n, lists.k, at_once, labels ? n_owners : int64_t{0});
    std::vector<int64_t> cut;
    for (size_t first = 0; first < rows.size(); first += at_once) {
        task.n_queries = static_cast<int>(std::min<size_t>(at_once, rows.size() - first));
        for (int q = 0; q < task.n_queries; ++q) {
            bytes[q] = reinterpret_cast<const uint8_t*>(queries + rows[first + q] * codes_.n_words);
            keys[q] = lists.keys_of(rows[first + q]);
        }
        kernels->search.scan(task);
        for (int q = 0; q < task.n_queries; ++q) {
            int64_t* const owners = lists.owners_of(rows[first + q]);
            for (int64_t entry = 0; entry < lists.k; ++entry) owners[entry] = lists.owner_of(keys[q][entry]);
            if (keys[q][lists.k - 1] == nothing) cut.push_back(rows[first + q]);
        }
    }
    if (codes_.n_bits > most_of_a_byte && !is_wide && !cut.empty()) scan(queries, cut, lists, n_owners, true);
}

}  // namespace dsnc
