// Normalization of columns, each by itself, where llvmpipe has neighbours of them in its lanes.
#ifndef WEBNND_SERVICE_PASSES_COLUMN_NORMALIZATION_H_
#define WEBNND_SERVICE_PASSES_COLUMN_NORMALIZATION_H_

#include "base/result.h"
#include "service/passes/axis_view.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// (x - mean) / sqrt(variance + epsilon) * scale + bias along the axis of `view`, of which `input`
// and `result` have the elements. What is absent is kNoValue.
struct ColumnNormalization {
  AxisView view;
  ValueId input = kNoValue;
  ValueId result = kNoValue;
  // Of the input's data type, with an element for each of view.inner; absent: those of the columns
  // of each plane.
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
  ValueId scale = kNoValue;
  ValueId bias = kNoValue;
  // Scale and bias have an element for each place along the axis, not for each of view.inner.
  bool is_affine_by_row = false;
  double epsilon = 0;
};

// Adds the calls of shaders/column_moments.comp and column_normalization.comp, if lanes have enough
// columns.
Result<bool> AddColumnNormalization(const ColumnNormalization& normalization,
                                    LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_COLUMN_NORMALIZATION_H_
