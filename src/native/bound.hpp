#pragma once
// Parts that Python holds, as the functions that put them together need them.
#include <functional>

#include "class_vectors.hpp"
#include "hashed_columns.hpp"
#include "python.hpp"
#include "ranking.hpp"

namespace dsnc {

const Index& index_of(nb::handle index);
const Shortlist& shortlist_of(nb::handle ranker);
ClassVectors& vectors_of(nb::handle vectors);

// Read texts block by block; after each block its rows, behind those that are there, may be used: where
// that takes long, without the GIL.
void read_texts(nb::handle columns, nb::list texts, SparseRows& rows, const std::function<void()>& use);

}  // namespace dsnc
