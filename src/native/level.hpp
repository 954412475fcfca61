#pragma once
// What each file of kernels adds to the table of its level.
#include "kernels.hpp"

namespace dsnc::LEVEL {

void add_centers(CenterKernels&);
void add_encode(SearchKernels&);
void add_likely(SearchKernels&);
void add_encode_dense(SearchKernels&);
void add_machines(SecondStageKernels&);
void add_multi_index(SearchKernels&);
void add_scan(SearchKernels&);
void add_second_stage(SecondStageKernels&);
void add_shortlist(SearchKernels&);
void add_table(TableKernels&);
void add_text(TextKernels&);
void add_training(TrainingKernels&) noexcept;

void scan(const Scan&);  // which training does, too

}  // namespace dsnc::LEVEL
