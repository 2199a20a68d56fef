#include "service/passes/lowering.h"

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_conv.h"
#include "service/passes/lower_elementwise.h"
#include "service/passes/lower_gather.h"
#include "service/passes/lower_matmul.h"
#include "service/passes/lower_normalization.h"
#include "service/passes/lower_pool.h"
#include "service/passes/lower_quantize.h"
#include "service/passes/lower_recurrent.h"
#include "service/passes/lower_reduce.h"
#include "service/passes/lower_resample.h"
#include "service/passes/lower_shape.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

struct Row {
  OperatorKind kind;
  LowerFunction lower;
};

// In the order of OperatorKind.
constexpr Row kRows[] = {
    {OperatorKind::kAbs, LowerUnary},
    {OperatorKind::kAdd, LowerBinary},
    {OperatorKind::kArgMax, LowerArgReduce},
    {OperatorKind::kArgMin, LowerArgReduce},
    {OperatorKind::kAveragePool2d, LowerPool2d},
    {OperatorKind::kBatchNormalization, LowerBatchNormalization},
    {OperatorKind::kCast, LowerCast},
    {OperatorKind::kCeil, LowerUnary},
    {OperatorKind::kClamp, LowerClamp},
    {OperatorKind::kConcat, LowerConcat},
    {OperatorKind::kConv2d, LowerConv2d},
    {OperatorKind::kConvTranspose2d, LowerConvTranspose2d},
    {OperatorKind::kCos, LowerUnary},
    {OperatorKind::kCumulativeSum, LowerCumulativeSum},
    {OperatorKind::kDequantizeLinear, LowerDequantizeLinear},
    {OperatorKind::kDiv, LowerBinary},
    {OperatorKind::kElu, LowerUnary},
    {OperatorKind::kEqual, LowerBinary},
    {OperatorKind::kErf, LowerUnary},
    {OperatorKind::kExp, LowerUnary},
    {OperatorKind::kExpand, LowerExpand},
    {OperatorKind::kFloor, LowerUnary},
    {OperatorKind::kGather, LowerGather},
    {OperatorKind::kGatherElements, LowerGatherElements},
    {OperatorKind::kGatherND, LowerGatherNd},
    {OperatorKind::kGelu, LowerUnary},
    {OperatorKind::kGemm, LowerGemm},
    {OperatorKind::kGreater, LowerBinary},
    {OperatorKind::kGreaterOrEqual, LowerBinary},
    {OperatorKind::kGru, LowerGru},
    {OperatorKind::kGruCell, LowerGruCell},
    {OperatorKind::kHardSigmoid, LowerUnary},
    {OperatorKind::kHardSwish, LowerUnary},
    {OperatorKind::kIdentity, LowerAlias},
    {OperatorKind::kInstanceNormalization, LowerInstanceNormalization},
    {OperatorKind::kIsInfinite, LowerUnary},
    {OperatorKind::kIsNaN, LowerUnary},
    {OperatorKind::kL2Pool2d, LowerPool2d},
    {OperatorKind::kLayerNormalization, LowerLayerNormalization},
    {OperatorKind::kLeakyRelu, LowerUnary},
    {OperatorKind::kLesser, LowerBinary},
    {OperatorKind::kLesserOrEqual, LowerBinary},
    {OperatorKind::kLinear, LowerUnary},
    {OperatorKind::kLog, LowerUnary},
    {OperatorKind::kLogicalAnd, LowerBinary},
    {OperatorKind::kLogicalNot, LowerUnary},
    {OperatorKind::kLogicalOr, LowerBinary},
    {OperatorKind::kLogicalXor, LowerBinary},
    {OperatorKind::kLstm, LowerLstm},
    {OperatorKind::kLstmCell, LowerLstmCell},
    {OperatorKind::kMatmul, LowerMatmul},
    {OperatorKind::kMax, LowerBinary},
    {OperatorKind::kMaxPool2d, LowerPool2d},
    {OperatorKind::kMin, LowerBinary},
    {OperatorKind::kMul, LowerBinary},
    {OperatorKind::kNeg, LowerUnary},
    {OperatorKind::kNotEqual, LowerBinary},
    {OperatorKind::kPad, LowerPad},
    {OperatorKind::kPow, LowerBinary},
    {OperatorKind::kPrelu, LowerBinary},
    {OperatorKind::kQuantizeLinear, LowerQuantizeLinear},
    {OperatorKind::kReciprocal, LowerUnary},
    {OperatorKind::kReduceL1, LowerReduce},
    {OperatorKind::kReduceL2, LowerReduce},
    {OperatorKind::kReduceLogSum, LowerReduce},
    {OperatorKind::kReduceLogSumExp, LowerReduce},
    {OperatorKind::kReduceMax, LowerReduce},
    {OperatorKind::kReduceMean, LowerReduce},
    {OperatorKind::kReduceMin, LowerReduce},
    {OperatorKind::kReduceProduct, LowerReduce},
    {OperatorKind::kReduceSum, LowerReduce},
    {OperatorKind::kReduceSumSquare, LowerReduce},
    {OperatorKind::kRelu, LowerUnary},
    {OperatorKind::kResample2d, LowerResample2d},
    {OperatorKind::kReshape, LowerAlias},
    {OperatorKind::kReverse, LowerReverse},
    {OperatorKind::kRoundEven, LowerUnary},
    {OperatorKind::kScatterElements, LowerScatterElements},
    {OperatorKind::kScatterND, LowerScatterNd},
    {OperatorKind::kSigmoid, LowerUnary},
    {OperatorKind::kSign, LowerUnary},
    {OperatorKind::kSin, LowerUnary},
    {OperatorKind::kSlice, LowerSlice},
    {OperatorKind::kSoftmax, LowerSoftmax},
    {OperatorKind::kSoftplus, LowerUnary},
    {OperatorKind::kSoftsign, LowerUnary},
    {OperatorKind::kSplit, LowerSplit},
    {OperatorKind::kSqrt, LowerUnary},
    {OperatorKind::kSub, LowerBinary},
    {OperatorKind::kTan, LowerUnary},
    {OperatorKind::kTanh, LowerUnary},
    {OperatorKind::kTile, LowerTile},
    {OperatorKind::kTranspose, LowerTranspose},
    {OperatorKind::kTriangular, LowerTriangular},
    {OperatorKind::kWhere, LowerWhere},
};
static_assert(std::size(kRows) == webidl::kOperatorKindCount);

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].kind != static_cast<OperatorKind>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace

LowerFunction GetLowering(OperatorKind kind) {
  auto index = static_cast<size_t>(kind);
  CHECK(index < std::size(kRows));
  return kRows[index].lower;
}

LoweredCall MakeCopyCall(const Graph& graph, ValueId result, ValueId source) {
  const webidl::OperandDescriptor& descriptor = graph.values[result].descriptor;
  CHECK(descriptor.byte_length() == graph.values[source].descriptor.byte_length());
  uint64_t words = WordCount(descriptor);
  LoweredCall call;
  call.shader = shaders::ShaderId::kCopyQuads;
  call.buffers = {{source, false}, {result, true}};
  StridedDimension flat{.size = static_cast<uint32_t>(words), .strides = {1}};
  call.specialization = {static_cast<uint32_t>(webidl::OperandDataType::kUint32),
                         /*many runs=*/0,
                         /*rank=*/1,
                         /*quads in rows=*/1,
                         static_cast<uint32_t>(QuadAccess::kQuad),
                         /*by rows=*/0};
  call.parameters = {static_cast<uint32_t>(words), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  AppendDimensions({&flat, 1}, call.parameters);
  call.invocations = DivideRoundingUp<uint64_t>(words, 4);
  call.cost = 8 * words;
  call.label = "copy";
  return call;
}

}  // namespace webnnd::service
