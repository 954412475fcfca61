// Codes: encoding, search, and the classes of the nearest codes.
#include <optional>
#include <stdexcept>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bound.hpp"
#include "predict.hpp"

namespace dsnc {
namespace {

using Words = Array<const uint64_t, 2>;
using Labels = std::optional<Array<const int64_t, 1>>;

void require(bool is_right, const char* message) {
    if (!is_right) throw std::invalid_argument(message);
}

Codes codes_of(const Words& words, int n_bits) {
    require(n_bits > 0 && static_cast<int64_t>(words.shape(1)) == (n_bits + 63) / 64,
            "words are not as wide as n_bits says.");
    return {words.data(), static_cast<int64_t>(words.shape(0)), n_bits, static_cast<int>(words.shape(1))};
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
        require(static_cast<int>(queries.shape(1)) == index.codes().n_words,
                "queries are not as wide as the codes.");
        require(!labels || static_cast<int64_t>(labels->shape(0)) == index.codes().n,
                "labels are not as many as the codes.");
    }
};

void search(const BoundIndex& self, Words queries, Array<int64_t, 2> keys, Array<int64_t, 2> owners,
            Labels labels, int64_t n_owners, int64_t slack) {
    self.check(queries, labels);
    const int64_t n = static_cast<int64_t>(queries.shape(0)), k = static_cast<int64_t>(keys.shape(1));
    require(static_cast<int64_t>(keys.shape(0)) == n && keys.shape(0) == owners.shape(0) &&
                keys.shape(1) == owners.shape(1) && k > 0,
            "keys and owners have another shape than (queries, k).");
    const nb::gil_scoped_release free;
    std::fill_n(keys.data(), n * k, nothing);
    std::fill_n(owners.data(), n * k, int64_t{-1});
    self.index.search(queries.data(), n, {data_of(labels), slack, k, keys.data(), owners.data()}, n_owners);
}

// Tell which queries would be looked up, for lists of k, and what that takes.
nb::tuple probe(const BoundIndex& self, Words queries, Array<bool, 1> done, int64_t k, int64_t slack) {
    self.check(queries, std::nullopt);
    const int64_t n = static_cast<int64_t>(queries.shape(0));
    require(static_cast<int64_t>(done.shape(0)) == n, "done has another length than queries.");
    std::vector<int64_t> keys(n * k, nothing), owners(n * k, -1);
    ProbeCounts counts;
    {
        const nb::gil_scoped_release free;
        counts =
            self.index.probe(queries.data(), n, {nullptr, slack, k, keys.data(), owners.data()}, done.data());
    }
    return nb::make_tuple(counts.lookups, counts.candidates, counts.checks);
}

template <class T>
nb::object numbers_of(const T* data, int64_t n, int64_t width, nb::handle owner) {
    if (width == 0) return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size_t(n)}, owner).cast();
    return nb::ndarray<nb::numpy, const T, nb::ndim<2>>(data, {size_t(n), size_t(width)}, owner).cast();
}

nb::object tables(const BoundIndex& self) {
    const std::shared_ptr<const Tables> found = self.index.tables();
    if (found == nullptr || found->view().n != self.index.codes().n) return nb::none();
    const MultiIndex view = found->view();
    auto* kept = new std::shared_ptr<const Tables>(found);
    const nb::capsule owner(kept,
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<const Tables>*>(p); });
    const int64_t n_rows = view.n * view.n_chunks;
    return nb::make_tuple(numbers_of(view.offsets, Tables::n_offsets(self.index.codes()), 0, owner),
                          numbers_of(view.ids, n_rows, 0, owner),
                          numbers_of(view.signatures, n_rows, view.n_parts, owner));
}

// (first bit, bits, place of the offsets) of each chunk of the bits.
nb::list chunks(const BoundIndex& self) {
    nb::list found;
    for (const Chunk& chunk : make_chunks(self.index.codes().n_bits, self.index.codes().n))
        found.append(nb::make_tuple(chunk.start, chunk.width, chunk.base));
    return found;
}

void use_tables(const BoundIndex& self, Array<const uint32_t, 1> offsets, Array<const uint32_t, 1> ids,
                Array<const uint64_t, 2> signatures) {
    const Codes& codes = self.index.codes();
    const int64_t n_rows = codes.n * Tables::n_chunks(codes);
    require(static_cast<int64_t>(offsets.shape(0)) == Tables::n_offsets(codes) &&
                static_cast<int64_t>(ids.shape(0)) == n_rows &&
                static_cast<int64_t>(signatures.shape(0)) == n_rows &&
                static_cast<int>(signatures.shape(1)) == Tables::n_parts(codes),
            "index: 'offsets', 'ids' or 'signatures' has another shape than the codes ask for.");
    struct Kept {
        Array<const uint32_t, 1> offsets, ids;
        Array<const uint64_t, 2> signatures;
    };
    const std::shared_ptr<void> owner = std::make_shared<Kept>(offsets, ids, signatures);
    self.index.use(
        std::make_shared<const Tables>(codes, offsets.data(), ids.data(), signatures.data(), owner));
}

// A shortlist, and what it is made of.
struct BoundShortlist {
    nb::object index, labels, weight, bias;
    Shortlist shortlist;
    int n_bits;
    int n_words;
};

BoundShortlist make_shortlist(nb::object index, nb::object labels, nb::object weight, nb::object bias,
                              float closeness, float half, int64_t size, int64_t n_flips) {
    const auto& bound = nb::cast<const BoundIndex&>(index);
    const auto owners = nb::cast<Labels>(labels);
    const auto vectors = nb::cast<Array<const float, 2>>(weight, false);
    const auto biases = nb::cast<Array<const float, 1>>(bias, false);
    const Codes& codes = bound.index.codes();
    bound.check(bound.words, owners);
    const int64_t n_classes = static_cast<int64_t>(biases.shape(0));
    require(static_cast<int64_t>(vectors.shape(0)) == n_classes &&
                static_cast<int>(vectors.shape(1)) == codes.n_bits && size > 0 && n_flips >= 0 &&
                n_flips <= 1 << 12,
            "weight, bias and codes do not fit each other.");
    for (int64_t row = 0; row < codes.n; ++row) {
        const int64_t owner = owners ? owners->data()[row] : row;
        require(owner >= 0 && owner < n_classes, "a label has no class vector.");
    }
    const Scoring scoring{vectors.data(), biases.data(), closeness, half};
    return {index,
            labels,
            weight,
            bias,
            Shortlist(bound.index, data_of(owners), n_classes, scoring, {size, n_flips}),
            codes.n_bits,
            codes.n_words};
}

bool rank(const BoundShortlist& self, Array<const float, 2> logits, std::optional<Words> words, bool widen,
          Array<int64_t, 2> classes, Array<float, 2> scores, Array<int64_t, 1> inside) {
    const size_t n = logits.shape(0), k = classes.shape(1);
    require(static_cast<int>(logits.shape(1)) == self.n_bits, "logits are not as wide as the codes.");
    require(!words || (words->shape(0) == n && static_cast<int>(words->shape(1)) == self.n_words),
            "words are not as many, or as wide, as the logits.");
    require(classes.shape(0) == n && scores.shape(0) == n && inside.shape(0) == n && scores.shape(1) == k &&
                k > 0,
            "classes, scores and inside have other shapes than (rows, k), (rows, k) and (rows,).");
    const nb::gil_scoped_release free;
    return self.shortlist.rank(logits.data(), words ? words->data() : nullptr, static_cast<int64_t>(n), widen,
                               {static_cast<int64_t>(k), classes.data(), scores.data(), inside.data()});
}

bool list_candidates(const BoundShortlist& self, Array<const float, 2> logits, Array<int64_t, 2> classes,
                     Array<float, 2> costs) {
    require(static_cast<int>(logits.shape(1)) == self.n_bits && classes.shape(0) == logits.shape(0) &&
                costs.shape(0) == logits.shape(0) && classes.shape(1) == costs.shape(1) &&
                classes.shape(1) > 0,
            "the shapes of logits, classes and costs do not fit each other.");
    const nb::gil_scoped_release free;
    return self.shortlist.list(logits.data(), static_cast<int64_t>(logits.shape(0)),
                               static_cast<int64_t>(classes.shape(1)), classes.data(), costs.data());
}

using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// `rows` of a CSR matrix from the first of `indptr` on.
int encode_csr(AnyArray indptr, AnyArray indices, AnyArray data, Array<const float, 2> weight,
               Array<const float, 1> bias, bool unit, Array<float, 2> logits, Array<uint64_t, 2> words) {
    const bool wide = indices.dtype() == nb::dtype<int64_t>();
    require((wide || indices.dtype() == nb::dtype<int32_t>()) && indptr.dtype() == indices.dtype(),
            "indptr and indices are not of one type, int32 or int64.");
    const bool doubles = data.dtype() == nb::dtype<double>();
    require(doubles || data.dtype() == nb::dtype<float>(), "data is neither float32 nor float64.");
    const int n_bits = static_cast<int>(weight.shape(1));
    require(bias.shape(0) == weight.shape(1) && logits.shape(1) == weight.shape(1) &&
                logits.shape(0) + 1 == indptr.shape(0) && words.shape(0) == logits.shape(0) &&
                static_cast<int>(words.shape(1)) == (n_bits + 63) / 64,
            "the shapes of weight, bias, logits and words do not fit each other.");
    const nb::gil_scoped_release free;
    const CsrRows rows{static_cast<int64_t>(logits.shape(0)),
                       static_cast<int64_t>(std::min(indices.shape(0), data.shape(0))),
                       indptr.data(),
                       indices.data(),
                       data.data(),
                       wide,
                       doubles};
    const Layer layer{weight.data(), bias.data(), static_cast<int64_t>(weight.shape(0)), n_bits};
    return static_cast<int>(kernels->search.encode(rows, layer, unit, logits.data(), words.data()));
}

void encode_dense(Array<const float, 2> rows, Array<const float, 2> weight, Array<const float, 1> bias,
                  bool unit, Array<float, 2> logits) {
    require(rows.shape(1) == weight.shape(0) && bias.shape(0) == weight.shape(1) &&
                logits.shape(1) == weight.shape(1) && logits.shape(0) == rows.shape(0),
            "the shapes of rows, weight, bias and logits do not fit each other.");
    const nb::gil_scoped_release free;
    const Layer layer{weight.data(), bias.data(), static_cast<int64_t>(weight.shape(0)),
                      static_cast<int>(weight.shape(1))};
    encode_dense_rows(rows.data(), static_cast<int64_t>(rows.shape(0)), layer, unit, logits.data());
}

void multiply(Array<const float, 2> soft, Array<const float, 2> weight, Array<const int64_t, 2> classes,
              Array<float, 2> products) {
    require(soft.shape(1) == weight.shape(1) && soft.shape(0) == classes.shape(0) &&
                products.shape(0) == classes.shape(0) && products.shape(1) == classes.shape(1),
            "the shapes of soft, weight, classes and products do not fit each other.");
    const nb::gil_scoped_release free;
    kernels->search.multiply(soft.data(), weight.data(), classes.data(),
                             static_cast<int64_t>(classes.shape(0)), static_cast<int64_t>(classes.shape(1)),
                             static_cast<int>(soft.shape(1)), products.data());
}

void line_up_arrays(Array<const float, 2> scores, int64_t first, Array<int64_t, 2> classes,
                    Array<float, 2> best) {
    require(classes.shape(0) == scores.shape(0) && best.shape(0) == scores.shape(0) &&
                classes.shape(1) == best.shape(1) && first >= 0,
            "the shapes of scores, classes and best do not fit each other.");
    const nb::gil_scoped_release free;
    line_up(scores.data(), static_cast<int64_t>(scores.shape(0)), static_cast<int64_t>(scores.shape(1)),
            first, static_cast<int64_t>(best.shape(1)), classes.data(), best.data());
}

}  // namespace

const Shortlist& shortlist_of(nb::handle ranker) { return nb::cast<const BoundShortlist&>(ranker).shortlist; }

void bind_codes(nb::module_& m) {
    nb::class_<BoundIndex>(m, "Index")
        .def(nb::init<Words, int, const std::string&>(), nb::arg("words").noconvert(), nb::arg("n_bits"),
             nb::arg("method"))
        .def(
            "with_more", [](const BoundIndex& self, Words words) { return new BoundIndex(words, self); },
            nb::arg("words").noconvert())
        .def(
            "prepare", [](const BoundIndex& self) { self.index.prepare(); }, free_of_gil())
        .def(
            "is_wide",
            [](const BoundIndex& self, int64_t k, int64_t slack) { return self.index.is_wide(k, slack); },
            nb::arg("k"), nb::arg("slack"))
        .def_prop_ro("nbytes", [](const BoundIndex& self) { return self.index.n_bytes(); })
        .def("chunks", chunks)
        .def("tables", tables)
        .def("use_tables", use_tables, nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
             nb::arg("signatures").noconvert())
        .def("search", search, nb::arg("queries").noconvert(), nb::arg("keys").noconvert(),
             nb::arg("owners").noconvert(), nb::arg("labels").noconvert().none(), nb::arg("n_owners"),
             nb::arg("slack"))
        .def("probe", probe, nb::arg("queries").noconvert(), nb::arg("done").noconvert(), nb::arg("k"),
             nb::arg("slack"));
    nb::class_<BoundShortlist>(m, "Shortlist")
        .def("list", list_candidates, nb::arg("logits").noconvert(), nb::arg("classes").noconvert(),
             nb::arg("costs").noconvert())
        .def("rank", rank, nb::arg("logits").noconvert(), nb::arg("words").noconvert().none(),
             nb::arg("widen"), nb::arg("classes").noconvert(), nb::arg("scores").noconvert(),
             nb::arg("inside").noconvert());
    m.def("make_shortlist", make_shortlist, nb::arg("index"), nb::arg("labels").none(), nb::arg("weight"),
          nb::arg("bias"), nb::arg("closeness"), nb::arg("half"), nb::arg("size"), nb::arg("radius"));
    m.def("encode_csr", encode_csr, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("weight").noconvert(), nb::arg("bias").noconvert(),
          nb::arg("unit"), nb::arg("logits").noconvert(), nb::arg("words").noconvert());
    m.def("encode_dense", encode_dense, nb::arg("rows").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("bias").noconvert(), nb::arg("unit"), nb::arg("logits").noconvert());
    m.def("line_up", line_up_arrays, nb::arg("scores").noconvert(), nb::arg("first"),
          nb::arg("classes").noconvert(), nb::arg("best").noconvert());
    m.def("multiply", multiply, nb::arg("soft").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("classes").noconvert(), nb::arg("products").noconvert());
    m.def(
        "nominal_nanoseconds",
        [](int n_bits, int64_t n_codes, Array<const int64_t, 1> distances) {
            return nominal_nanoseconds(n_bits, n_codes, distances.data(),
                                       static_cast<int64_t>(distances.shape(0)));
        },
        nb::arg("n_bits"), nb::arg("n_codes"), nb::arg("distances").noconvert());
}

}  // namespace dsnc
