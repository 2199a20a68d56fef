#include "webidl/operator_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "webidl/operators/activation.h"
#include "webidl/operators/conv.h"
#include "webidl/operators/elementwise.h"
#include "webidl/operators/gather_scatter.h"
#include "webidl/operators/matmul.h"
#include "webidl/operators/normalization.h"
#include "webidl/operators/pool.h"
#include "webidl/operators/quantize.h"
#include "webidl/operators/recurrent.h"
#include "webidl/operators/reduce.h"
#include "webidl/operators/row_checks.h"
#include "webidl/operators/shape.h"

namespace webnnd::webidl {

namespace {

struct TableEntry {
  OperatorKind kind;
  OperatorRow (*make_row)(OperatorKind);
};

constexpr auto kTable = std::to_array<TableEntry>({
    {OperatorKind::kAbs, SignedUnaryRow},
    {OperatorKind::kAdd, BinaryRow},
    {OperatorKind::kArgMax, ArgMinMaxRow},
    {OperatorKind::kArgMin, ArgMinMaxRow},
    {OperatorKind::kAveragePool2d, FloatPoolRow},
    {OperatorKind::kBatchNormalization, BatchNormalizationRow},
    {OperatorKind::kCast, CastRow},
    {OperatorKind::kCeil, FloatUnaryRow},
    {OperatorKind::kClamp, ClampRow},
    {OperatorKind::kConcat, ConcatRow},
    {OperatorKind::kConv2d, Conv2dRow},
    {OperatorKind::kConvTranspose2d, ConvTranspose2dRow},
    {OperatorKind::kCos, FloatUnaryRow},
    {OperatorKind::kCumulativeSum, CumulativeSumRow},
    {OperatorKind::kDequantizeLinear, DequantizeLinearRow},
    {OperatorKind::kDiv, BinaryRow},
    {OperatorKind::kElu, ActivationRow},
    {OperatorKind::kEqual, ComparisonRow},
    {OperatorKind::kErf, FloatUnaryRow},
    {OperatorKind::kExp, FloatUnaryRow},
    {OperatorKind::kExpand, ExpandRow},
    {OperatorKind::kFloor, FloatUnaryRow},
    {OperatorKind::kGather, GatherRow},
    {OperatorKind::kGatherElements, GatherElementsRow},
    {OperatorKind::kGatherND, GatherNDRow},
    {OperatorKind::kGelu, ActivationRow},
    {OperatorKind::kGemm, GemmRow},
    {OperatorKind::kGreater, ComparisonRow},
    {OperatorKind::kGreaterOrEqual, ComparisonRow},
    {OperatorKind::kGru, GruRow},
    {OperatorKind::kGruCell, GruCellRow},
    {OperatorKind::kHardSigmoid, ActivationRow},
    {OperatorKind::kHardSwish, ActivationRow},
    {OperatorKind::kIdentity, IdentityRow},
    {OperatorKind::kInstanceNormalization, InstanceNormalizationRow},
    {OperatorKind::kIsInfinite, ClassificationRow},
    {OperatorKind::kIsNaN, ClassificationRow},
    {OperatorKind::kL2Pool2d, FloatPoolRow},
    {OperatorKind::kLayerNormalization, LayerNormalizationRow},
    {OperatorKind::kLeakyRelu, ActivationRow},
    {OperatorKind::kLesser, ComparisonRow},
    {OperatorKind::kLesserOrEqual, ComparisonRow},
    {OperatorKind::kLinear, ActivationRow},
    {OperatorKind::kLog, FloatUnaryRow},
    {OperatorKind::kLogicalAnd, LogicalBinaryRow},
    {OperatorKind::kLogicalNot, LogicalNotRow},
    {OperatorKind::kLogicalOr, LogicalBinaryRow},
    {OperatorKind::kLogicalXor, LogicalBinaryRow},
    {OperatorKind::kLstm, LstmRow},
    {OperatorKind::kLstmCell, LstmCellRow},
    {OperatorKind::kMatmul, MatmulRow},
    {OperatorKind::kMax, BinaryRow},
    {OperatorKind::kMaxPool2d, MaxPool2dRow},
    {OperatorKind::kMin, BinaryRow},
    {OperatorKind::kMul, BinaryRow},
    {OperatorKind::kNeg, SignedUnaryRow},
    {OperatorKind::kNotEqual, ComparisonRow},
    {OperatorKind::kPad, PadRow},
    {OperatorKind::kPow, BinaryRow},
    {OperatorKind::kPrelu, PreluRow},
    {OperatorKind::kQuantizeLinear, QuantizeLinearRow},
    {OperatorKind::kReciprocal, FloatUnaryRow},
    {OperatorKind::kReduceL1, AccumulatingReductionRow},
    {OperatorKind::kReduceL2, FloatReductionRow},
    {OperatorKind::kReduceLogSum, FloatReductionRow},
    {OperatorKind::kReduceLogSumExp, FloatReductionRow},
    {OperatorKind::kReduceMax, ExtremumReductionRow},
    {OperatorKind::kReduceMean, FloatReductionRow},
    {OperatorKind::kReduceMin, ExtremumReductionRow},
    {OperatorKind::kReduceProduct, AccumulatingReductionRow},
    {OperatorKind::kReduceSum, AccumulatingReductionRow},
    {OperatorKind::kReduceSumSquare, AccumulatingReductionRow},
    {OperatorKind::kRelu, ReluRow},
    {OperatorKind::kResample2d, Resample2dRow},
    {OperatorKind::kReshape, ReshapeRow},
    {OperatorKind::kReverse, ReverseRow},
    {OperatorKind::kRoundEven, FloatUnaryRow},
    {OperatorKind::kScatterElements, ScatterElementsRow},
    {OperatorKind::kScatterND, ScatterNDRow},
    {OperatorKind::kSigmoid, ActivationRow},
    {OperatorKind::kSign, SignedUnaryRow},
    {OperatorKind::kSin, FloatUnaryRow},
    {OperatorKind::kSlice, SliceRow},
    {OperatorKind::kSoftmax, SoftmaxRow},
    {OperatorKind::kSoftplus, ActivationRow},
    {OperatorKind::kSoftsign, ActivationRow},
    {OperatorKind::kSplit, SplitRow},
    {OperatorKind::kSqrt, FloatUnaryRow},
    {OperatorKind::kSub, BinaryRow},
    {OperatorKind::kTan, FloatUnaryRow},
    {OperatorKind::kTanh, ActivationRow},
    {OperatorKind::kTile, TileRow},
    {OperatorKind::kTranspose, TransposeRow},
    {OperatorKind::kTriangular, TriangularRow},
    {OperatorKind::kWhere, WhereRow},
});

static_assert(kTable.size() == kOperatorKindCount, "an operator has no row");

constexpr bool IsIndexedByKind() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].kind) != i) return false;
  }
  return true;
}
static_assert(IsIndexedByKind(), "a row stands in another operator's place");

using Rows = std::array<OperatorRow, kOperatorKindCount>;

Rows MakeRows() {
  Rows rows;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = kTable[i].make_row(kTable[i].kind);
  return rows;
}

}  // namespace

std::string DataTypeSet::ToString() const {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < kOperandDataTypeCount; ++i) {
    const auto type = static_cast<OperandDataType>(i);
    if (Contains(type)) names.push_back(webnnd::webidl::ToString(type));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

const OperatorRow& GetOperatorRow(OperatorKind kind) {
  // Never destroyed: threads may still ask while the process exits.
  static const Rows& rows = *new Rows(MakeRows());
  const auto index = static_cast<size_t>(kind);
  CHECK(index < rows.size());
  return rows[index];
}

std::string OperatorPrefix(OperatorKind kind, const std::string& label) {
  if (label.empty()) return std::string(OperatorName(kind));
  return fmt::format("[{}] {}", DisplayText(label), OperatorName(kind));
}

Result<std::vector<OperandDescriptor>> InferOperator(
    OperatorKind kind, std::span<const OperandDescriptor* const> operands,
    const OperatorAttributes& attributes, const std::string& label, LimitSet limits,
    const DimensionNames& names) {
  return InferRow(GetOperatorRow(kind), operands, attributes, label, limits, names);
}

}  // namespace webnnd::webidl
