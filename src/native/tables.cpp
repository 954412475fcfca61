// The tables of a multi-index: how bits are cut into chunks, and what looking up is expected to cost.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "index.hpp"
#include "kernels.hpp"

namespace dsnc {
namespace {

constexpr int least_width = 4, most_width = 24;  // bits of a chunk: its 2^24 offsets are 64 MiB
constexpr int most_chunks = 32;  // of very long codes some bits are in none: search stays exact
constexpr int most_radius = 7;
constexpr int64_t most_masks = 1 << 18;  // values of a chunk at one radius: scanning is cheaper than
                                         // so many lookups
constexpr double byte_cost = 0.05;       // nanoseconds of a byte of a scanned code
constexpr double crowded = 1.3;  // codes gather: the buckets near a query hold more rows than others

int64_t n_offsets_of(const std::vector<Chunk>& chunks) {
    return chunks.back().base + (int64_t{1} << chunks.back().width) + 1;
}

// n over r, or something larger than `most_masks`.
int64_t choose(int n, int r) {
    int64_t value = 1;
    for (int i = 0; i < r && value <= most_masks; ++i) value = value * (n - i) / (i + 1);
    return value;
}

// The values of r bits for chunks of each width, ascending, and where those of each r begin.
//
// Radii go as far as the values are few enough for all widths.
struct Masks {
    std::vector<uint32_t> values;
    std::vector<int64_t> starts;  // [width * n_starts + r]
    int n_starts;

    explicit Masks(const std::vector<Chunk>& chunks) {
        int widest = 0;
        for (const Chunk& chunk : chunks) widest = std::max(widest, chunk.width);
        int n_radii = 1;
        while (n_radii <= most_radius && choose(widest, n_radii) <= most_masks) ++n_radii;
        n_starts = n_radii + 1;
        starts.assign(static_cast<size_t>(widest + 1) * n_starts, 0);
        std::vector<bool> is_listed(widest + 1);
        for (const Chunk& chunk : chunks) {
            if (is_listed[chunk.width]) continue;
            is_listed[chunk.width] = true;
            list(chunk.width, n_radii);
        }
    }

    void list(int width, int n_radii) {
        std::vector<uint32_t> these = {0};
        for (int r = 0; r < n_radii; ++r) {
            starts[width * n_starts + r] = static_cast<int64_t>(values.size());
            values.insert(values.end(), these.begin(), these.end());
            // One bit more, above the highest: ascending values stay ascending.
            std::vector<uint32_t> next;
            for (int bit = 0; bit < width; ++bit)
                for (const uint32_t value : these) {
                    if (value >> bit != 0) break;
                    next.push_back(value | uint32_t{1} << bit);
                }
            these = std::move(next);
        }
        starts[width * n_starts + n_radii] = static_cast<int64_t>(values.size());
    }

    int64_t before(int width, int r) const { return starts[width * n_starts + r]; }
};

double scan_cost(int n_bits, int64_t n_codes) {
    return byte_cost * static_cast<double>(n_codes) * planes_of(n_bits);
}

// What a lookup in a chunk is expected to cost, with all that it finds.
double lookup_cost(int n_bits, int64_t n_codes, int width) {
    const LookupCosts costs;
    // Signatures of long codes leave out too much: almost all rows are checked.
    const double candidate = costs.candidate + (n_bits > 128 ? costs.check : 0);
    const double occupancy = static_cast<double>(n_codes) / std::exp2(width);
    return costs.lookup + costs.bucket * std::min(1.0, occupancy) + crowded * candidate * occupancy;
}

// What going on costs: [r, d] from radius r to the end of a list that ends at distance d, and the last
// of each r that of radius r alone.
std::vector<double> costs_ahead(int n_bits, int64_t n_codes, const std::vector<Chunk>& chunks,
                                const Masks& masks, int n_radii) {
    const int m = static_cast<int>(chunks.size()), n_ahead = n_bits + 2;
    const auto until = [&](int j, int r) {  // the cost of all lookups in chunk j before radius r
        const int width = chunks[j].width;
        return lookup_cost(n_bits, n_codes, width) *
               static_cast<double>(masks.before(width, r) - masks.before(width, 0));
    };
    std::vector<double> ahead(static_cast<size_t>(n_radii) * n_ahead, 0);
    for (int r = 0; r < n_radii; ++r) {
        double* const costs = ahead.data() + static_cast<size_t>(r) * n_ahead;
        for (int d = 0; d <= n_bits; ++d) {
            for (int j = 0; j < m; ++j) {
                // Chunk j is tried up to this radius before a list that ends at d is complete.
                const int final = d - j >= 0 ? (d - j) / m : -1;
                if (final >= n_radii) {
                    costs[d] = std::numeric_limits<double>::infinity();
                    break;
                }
                costs[d] += std::max(until(j, final + 1) - until(j, r), 0.0);
            }
        }
        for (int j = 0; j < m; ++j) costs[n_ahead - 1] += until(j, r + 1) - until(j, r);
    }
    return ahead;
}

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("index: " + message); }

}  // namespace

std::vector<Chunk> make_chunks(int n_bits, int64_t n_codes) {
    const double size = std::log2(static_cast<double>(std::max<int64_t>(1, n_codes)));
    const double wanted = std::clamp(size, double{least_width}, double{most_width});
    const int m = static_cast<int>(std::ceil(n_bits / wanted));
    const double step = static_cast<double>(n_bits) / m;
    const auto edge = [&](int j) { return j == m ? n_bits : static_cast<int>(j * step); };
    std::vector<Chunk> chunks;
    int64_t base = 0;
    const int n = std::min(m, most_chunks);
    for (int i = 0; i < n; ++i) {
        const double place = static_cast<double>(m - 1) / std::max(n - 1, 1);
        const int j = n < m ? (i == n - 1 ? m - 1 : static_cast<int>(i * place)) : i;
        chunks.push_back({edge(j), edge(j + 1) - edge(j), base});
        base += (int64_t{1} << chunks.back().width) + 1;
    }
    return chunks;
}

int64_t Tables::n_offsets(const Codes& codes) { return n_offsets_of(make_chunks(codes.n_bits, codes.n)); }

int Tables::n_chunks(const Codes& codes) {
    return static_cast<int>(make_chunks(codes.n_bits, codes.n).size());
}

void Tables::lay_out(const Codes& codes) {
    chunks_ = make_chunks(codes.n_bits, codes.n);
    Masks masks(chunks_);
    index_.n = codes.n;
    index_.n_parts = n_parts(codes);
    index_.n_chunks = static_cast<int>(chunks_.size());
    index_.n_radii = masks.n_starts - 1;
    index_.n_mask_starts = masks.n_starts;
    index_.scan_cost = scan_cost(codes.n_bits, codes.n);
    ahead_ = costs_ahead(codes.n_bits, codes.n, chunks_, masks, index_.n_radii);
    masks_ = std::move(masks.values);
    mask_starts_ = std::move(masks.starts);
    index_.chunks = chunks_.data();
    index_.masks = masks_.data();
    index_.mask_starts = mask_starts_.data();
    index_.ahead = ahead_.data();
}

Tables::Tables(const Codes& codes) {
    lay_out(codes);
    const size_t n_rows = static_cast<size_t>(codes.n) * chunks_.size();
    offsets_.resize(n_offsets_of(chunks_));
    ids_.resize(n_rows);
    signatures_.resize(n_rows * index_.n_parts);
    kernels->search.fill_buckets(codes, chunks_.data(), index_.n_chunks, index_.n_parts, offsets_.data(),
                                 ids_.data(), signatures_.data());
    index_.offsets = offsets_.data();
    index_.ids = ids_.data();
    index_.signatures = signatures_.data();
}

Tables::Tables(const Codes& codes, const uint32_t* offsets, const uint32_t* ids, const uint64_t* signatures,
               std::shared_ptr<void> owner)
    : owner_(std::move(owner)) {
    lay_out(codes);
    index_.offsets = offsets;
    index_.ids = ids;
    index_.signatures = signatures;
    check(codes);
}

void Tables::check(const Codes& codes) const {
    for (int j = 0; j < index_.n_chunks; ++j) {
        const uint32_t* const ends = index_.offsets + chunks_[j].base;
        const int64_t n_values = int64_t{1} << chunks_[j].width;
        bool ascend = ends[0] == 0 && ends[n_values] == codes.n;
        for (int64_t value = 0; value < n_values; ++value) ascend &= ends[value] <= ends[value + 1];
        if (!ascend)
            refuse("the offsets of chunk " + std::to_string(j) + " do not ascend from 0 to " +
                   std::to_string(codes.n) + ".");
    }
    const int64_t n_rows = codes.n * index_.n_chunks;
    for (int64_t place = 0; place < n_rows; ++place)
        if (index_.ids[place] >= codes.n)
            refuse("array 'ids' has row " + std::to_string(index_.ids[place]) + "; there are " +
                   std::to_string(codes.n) + " codes.");
}

}  // namespace dsnc
