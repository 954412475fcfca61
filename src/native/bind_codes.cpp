// Codes: encoding, search, and the classes of the nearest codes.
#include <string>

#include <nanobind/stl/string.h>

#include "bound.hpp"
#include "new_arrays.hpp"
#include "predict.hpp"

namespace dsnc {
namespace {

using Words = Array<const uint64_t, 2>;
using Labels = std::optional<Array<const int64_t, 1>>;
constexpr const char* misfit = "the shapes of arrays do not fit each other.";

Codes codes_of(const Words& words, int n_bits) {
    require(n_bits > 0 && n_bits <= most_bits_of_planes, "codes have no bits, or more than 65,534.");
    require(words.width() == (n_bits + 63) / 64, "words are not as wide as n_bits says.");
    return {words.data(), words.n(), n_bits, static_cast<int>(words.width())};
}

const int64_t* data_of(const Labels& labels) { return labels ? labels->data() : nullptr; }

Method method_named(const std::string& name) {
    if (name == "scan") return Method::scan;
    return name == "multi_index" ? Method::multi_index : Method::automatic;
}

// An index, and the array that holds its codes.
struct BoundIndex {
    Words words;
    Index index;

    BoundIndex(Words array, int n_bits, const std::string& method)
        : words(array), index(codes_of(array, n_bits), method_named(method)) {}
    BoundIndex(Words array, const BoundIndex& before)
        : words(array), index(codes_of(array, before.index.codes().n_bits), before.index) {}

    void check(const Words& queries, const Labels& labels) const {
        require(queries.width() == index.codes().n_words, "queries are not as wide as the codes.");
        require(!labels || labels->n() == index.codes().n, "labels are not as many as the codes.");
    }
};

void search(const BoundIndex& self, Words queries, Array<int64_t, 2> keys, Array<int64_t, 2> owners,
            Labels labels, int64_t n_owners) {
    self.check(queries, labels);
    const int64_t n = queries.n(), k = keys.width();
    require(keys.has(n, k) && owners.has(n, k) && k > 0, misfit);
    std::fill_n(keys.data(), n * k, nothing);
    std::fill_n(owners.data(), n * k, int64_t{-1});
    self.index.search(queries.data(), n, {data_of(labels), k, keys.data(), owners.data()}, n_owners);
}

nb::object tables(const BoundIndex& self) {
    const std::shared_ptr<const Tables> found = self.index.tables();
    if (found == nullptr || found->view().n != self.index.codes().n) return nb::none();
    const MultiIndex view = found->view();
    auto* kept = new std::shared_ptr<const Tables>(found);
    const nb::capsule owner(kept,
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<const Tables>*>(p); });
    const int64_t n_rows = view.n * view.n_chunks;
    return nb::make_tuple(as_array(view.offsets, Tables::n_offsets(self.index.codes()), owner),
                          as_array(view.ids, n_rows, owner),
                          as_array(view.signatures, n_rows * view.n_parts, owner));
}

void use_tables(const BoundIndex& self, Array<const uint32_t, 1> offsets, Array<const uint32_t, 1> ids,
                Array<const uint64_t, 2> signatures) {
    const Codes& codes = self.index.codes();
    const int64_t n_rows = codes.n * Tables::n_chunks(codes);
    require(offsets.has(Tables::n_offsets(codes)) && ids.has(n_rows) &&
                signatures.has(n_rows, Tables::n_parts(codes)),
            "index: 'offsets', 'ids' or 'signatures' has another shape than the codes ask for.");
    using Kept = std::tuple<Array<const uint32_t, 1>, Array<const uint32_t, 1>, Array<const uint64_t, 2>>;
    self.index.use(std::make_shared<const Tables>(codes, offsets.data(), ids.data(), signatures.data(),
                                                  std::make_shared<Kept>(offsets, ids, signatures)));
}

// A shortlist, and what it is made of.
struct BoundShortlist {
    nb::object index;
    Labels labels;
    Array<const float, 2> weight;
    Array<const float, 1> bias;
    Shortlist shortlist;

    int n_bits() const { return static_cast<int>(weight.width()); }
};

BoundShortlist make_shortlist(nb::object index, Labels labels, Array<const float, 2> weight,
                              Array<const float, 1> bias, float closeness, float half, int64_t size,
                              int64_t n_flips) {
    const auto& bound = nb::cast<const BoundIndex&>(index);
    const Codes& codes = bound.index.codes();
    bound.check(bound.words, labels);
    require(weight.has(bias.n(), codes.n_bits), misfit);
    require(size > 0 && n_flips >= 0 && n_flips <= 1 << 12, "size or flips is out of range.");
    require(labels ? are_within(*labels, 0, bias.n()) : codes.n <= bias.n(), "a label has no class vector.");
    const Scoring scoring{weight.data(), bias.data(), closeness, half};
    return {index, labels, weight, bias,
            Shortlist(bound.index, data_of(labels), bias.n(), scoring, {size, n_flips})};
}

bool rank(const BoundShortlist& self, Array<const float, 2> logits, std::optional<Words> words, bool widen,
          Array<int64_t, 2> classes, Array<float, 2> scores, Array<int64_t, 1> inside) {
    const int64_t n = logits.n(), k = classes.width();
    require(logits.has(n, self.n_bits()) && (!words || words->has(n, (self.n_bits() + 63) / 64)) &&
                classes.has(n, k) && scores.has(n, k) && inside.has(n) && k > 0,
            misfit);
    return self.shortlist.rank(logits.data(), words ? words->data() : nullptr, n, widen,
                               {k, classes.data(), scores.data(), inside.data()});
}

bool list_candidates(const BoundShortlist& self, Array<const float, 2> logits, Array<int64_t, 2> classes,
                     Array<float, 2> costs) {
    const int64_t n = logits.n(), k = classes.width();
    require(logits.has(n, self.n_bits()) && classes.has(n, k) && costs.has(n, k) && k > 0, misfit);
    return self.shortlist.list(logits.data(), n, k, classes.data(), costs.data());
}

// `indptr` are those of the rows.
int encode_csr(Array<const int64_t, 1> indptr, Array<const int32_t, 1> indices, AnyArray data,
               Array<const float, 2> weight, Array<const float, 1> bias, bool unit, Array<float, 2> logits,
               Array<uint64_t, 2> words) {
    const int64_t n = logits.n(), n_bits = weight.width();
    require(
        bias.has(n_bits) && logits.has(n, n_bits) && indptr.has(n + 1) && words.has(n, (n_bits + 63) / 64),
        misfit);
    const CsrRows rows{n,
                       std::min(indices.n(), static_cast<int64_t>(data.shape(0))),
                       indptr.data(),
                       indices.data(),
                       numbers_of<float>(data),
                       numbers_of<double>(data)};
    require(rows.floats || rows.doubles, "data is neither float32 nor float64.");
    const Layer layer{weight.data(), bias.data(), weight.n(), static_cast<int>(n_bits)};
    return static_cast<int>(kernels->search.encode(rows, layer, unit, logits.data(), words.data()));
}

void encode_dense(Array<const float, 2> rows, Array<const float, 2> weight, Array<const float, 1> bias,
                  bool unit, Array<float, 2> logits) {
    const int64_t n_bits = weight.width();
    require(weight.has(rows.width(), n_bits) && bias.has(n_bits) && logits.has(rows.n(), n_bits), misfit);
    const Layer layer{weight.data(), bias.data(), weight.n(), static_cast<int>(n_bits)};
    encode_dense_rows(rows.data(), rows.n(), layer, unit, logits.data());
}

void multiply(Array<const float, 2> soft, Array<const float, 2> weight, Array<const int64_t, 2> classes,
              Array<float, 2> products) {
    const int64_t n = classes.n(), k = classes.width();
    require(soft.has(n, weight.width()) && products.has(n, k), misfit);
    kernels->search.multiply(soft.data(), weight.data(), classes.data(), n, k, int(soft.width()),
                             products.data());
}

void line_up(Array<const float, 2> scores, int64_t first, Array<int64_t, 2> classes, Array<float, 2> best) {
    require(classes.has(scores.n(), best.width()) && best.n() == scores.n() && first >= 0, misfit);
    kernels->search.line_up(scores.data(), scores.n(), scores.width(), first, best.width(), classes.data(),
                            best.data());
}

}  // namespace

const Index& index_of(nb::handle index) { return nb::cast<const BoundIndex&>(index).index; }
const Shortlist& shortlist_of(nb::handle ranker) { return nb::cast<const BoundShortlist&>(ranker).shortlist; }

void bind_codes(nb::module_& m) {
    nb::class_<BoundIndex>(m, "Index")
        .def(nb::init<Words, int, const std::string&>())
        .def("with_more", [](const BoundIndex& self, Words words) { return new BoundIndex(words, self); })
        .def(
            "prepare", [](const BoundIndex& self) { self.index.prepare(); }, free_of_gil())
        .def_prop_ro("nbytes", [](const BoundIndex& self) { return self.index.n_bytes(); })
        .def("tables", tables)
        .def("use_tables", use_tables)
        .def("search", search, free_of_gil());
    nb::class_<BoundShortlist>(m, "Shortlist")
        .def("list", list_candidates, free_of_gil())
        .def("rank", rank, free_of_gil());
    m.def("make_shortlist", make_shortlist);
    m.def("encode_csr", encode_csr, free_of_gil());
    m.def("encode_dense", encode_dense, free_of_gil());
    m.def("line_up", line_up, free_of_gil());
    m.def("multiply", multiply, free_of_gil());
}

}  // namespace dsnc
