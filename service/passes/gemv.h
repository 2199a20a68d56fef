// Products of one row with matrices, as one kernel call: most of what decoding a token takes.
#ifndef WEBNND_SERVICE_PASSES_GEMV_H_
#define WEBNND_SERVICE_PASSES_GEMV_H_

#include <cstdint>
#include <vector>

#include "service/passes/lowering.h"

namespace webnnd::service {

inline constexpr size_t kGemvMatricesMax = 3;  // MATRICES of shaders/table.txt.

// result[n] = alpha * sum over k of x[k] * weights[n, k] + beta * addend[n], as shaders/gemv.comp
// computes it for several weights that share x.
struct Gemv {
  struct Matrix {
    ValueId weights = kNoValue;  // [rows, depth]
    ValueId addend = kNoValue;   // kNoValue: none.
    uint32_t addend_stride = 1;  // 0 where one element is added to all.
    ValueId result = kNoValue;   // One element per row.
    uint32_t rows = 0;
  };
  ValueId x = kNoValue;
  uint32_t depth = 0;
  std::vector<Matrix> matrices;  // At most kGemvMatricesMax.
  // Of two matrices, without addends: silu(first) * second is the result of the first.
  bool gated = false;
  // Where there is a gain, x is gain * x / sqrt(mean(x * x) + epsilon).
  ValueId gain = kNoValue;
  double epsilon = 0;
  double alpha = 1;
  double beta = 1;
};

// Whether rows of this many elements load 16 bytes at a time.
bool IsGemvDepth(webidl::OperandDataType type, uint32_t depth);

void AddGemvCall(const Gemv& gemv, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_GEMV_H_
