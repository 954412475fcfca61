// The table of one level: each file of kernels adds its own.
#include "level.hpp"

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

namespace dsnc::LEVEL {

namespace {

Kernels make_table() noexcept {
    Kernels table{};
    table.level = NAME_OF(LEVEL);
    add_centers(table.centers);
    add_encode(table.search);
    add_likely(table.search);
    add_encode_dense(table.search);
    add_machines(table.second_stage);
    add_multi_index(table.search);
    add_scan(table.search);
    add_second_stage(table.second_stage);
    add_shortlist(table.search);
    add_table(table.table);
    add_text(table.text);
    add_training(table.training);
    return table;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels table = make_table();
    return table;
}

}  // namespace dsnc::LEVEL
