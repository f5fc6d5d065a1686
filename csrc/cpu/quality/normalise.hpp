// The range of a front, and points scaled to it. CPU only, for arrays: for tensors, Python composes
// them from other calls.
#pragma once

#include "batch.hpp"

namespace paretopo::cpu {

// corners: (groups, objectives), in the units of the objectives; NaN for an empty group.
template <typename Scalar>
void ideal_point(Batch<Scalar> batch, Scalar* corners);
template <typename Scalar>
void nadir_point(Batch<Scalar> batch, Scalar* corners);
// Lies beyond the nadir point by `part` of the range.
template <typename Scalar>
void reference_point(Batch<Scalar> batch, double part, Scalar* corners);

// scaled: (groups, points, objectives). ideal, nadir: (objectives,) for all groups; null: each
// group has its own.
template <typename Scalar>
void normalise(Batch<Scalar> batch, const double* ideal, const double* nadir, Scalar* scaled);

}  // namespace paretopo::cpu
