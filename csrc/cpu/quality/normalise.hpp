// The range of a front, and points in its units. On the CPU alone, for arrays: Python composes them
// of other calls for what is not one.
#pragma once

#include "batch.hpp"

namespace paretopo::cpu {

// corners: (groups, objectives), in the units of the objectives; NaN where there is none.
template <typename Scalar>
void ideal_point(Batch<Scalar> batch, Scalar* corners);
template <typename Scalar>
void nadir_point(Batch<Scalar> batch, Scalar* corners);
// Beyond the nadir point, by that part of the range.
template <typename Scalar>
void reference_point(Batch<Scalar> batch, double part, Scalar* corners);

// scaled: (groups, points, objectives). ideal, nadir: (objectives,) for all groups; null: each
// group has its own.
template <typename Scalar>
void normalise(Batch<Scalar> batch, const double* ideal, const double* nadir, Scalar* scaled);

}  // namespace paretopo::cpu
