#include "tests/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "tests/reference/families.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

// In the order of OperatorKind. How far a result may be off follows from the evaluation (real.h).
constexpr Row kRows[] = {
    {OperatorKind::kAbs, MakeUnary, EvaluateUnary},
    {OperatorKind::kAdd, MakeBinary, EvaluateBinary},
    {OperatorKind::kArgMax, MakeArgMinMax, EvaluateArgMinMax},
    {OperatorKind::kArgMin, MakeArgMinMax, EvaluateArgMinMax},
    {OperatorKind::kAveragePool2d, MakePool2d, EvaluatePool2d, Domain::kTerms},
    {OperatorKind::kBatchNormalization, MakeBatchNormalization, EvaluateBatchNormalization,
     Domain::kTerms},
    {OperatorKind::kCast, MakeCast, EvaluateCast},
    {OperatorKind::kCeil, MakeUnary, EvaluateUnary},
    {OperatorKind::kClamp, MakeClamp, EvaluateClamp},
    {OperatorKind::kConcat, MakeConcat, EvaluateConcat, Domain::kAny, Match::kBits},
    {OperatorKind::kConv2d, MakeConv2d, EvaluateConv2d, Domain::kTerms},
    {OperatorKind::kConvTranspose2d, MakeConvTranspose2d, EvaluateConvTranspose2d, Domain::kTerms},
    {OperatorKind::kCos, MakeUnary, EvaluateUnary},
    {OperatorKind::kCumulativeSum, MakeCumulativeSum, EvaluateCumulativeSum, Domain::kTerms},
    {OperatorKind::kDequantizeLinear, MakeQuantization, EvaluateDequantizeLinear},
    {OperatorKind::kDiv, MakeBinary, EvaluateBinary},
    {OperatorKind::kElu, MakeUnary, EvaluateUnary},
    {OperatorKind::kEqual, MakeBinary, EvaluateBinary},
    {OperatorKind::kErf, MakeUnary, EvaluateUnary},
    {OperatorKind::kExp, MakeUnary, EvaluateUnary},
    {OperatorKind::kExpand, MakeExpand, EvaluateExpand, Domain::kAny, Match::kBits},
    {OperatorKind::kFloor, MakeUnary, EvaluateUnary},
    {OperatorKind::kGather, MakeGather, EvaluateGather, Domain::kAny, Match::kBits},
    {OperatorKind::kGatherElements, MakeGatherElements, EvaluateGatherElements, Domain::kAny,
     Match::kBits},
    {OperatorKind::kGatherND, MakeGatherNd, EvaluateGatherNd, Domain::kAny, Match::kBits},
    {OperatorKind::kGelu, MakeUnary, EvaluateUnary},
    {OperatorKind::kGemm, MakeGemm, EvaluateGemm, Domain::kTerms},
    {OperatorKind::kGreater, MakeBinary, EvaluateBinary},
    {OperatorKind::kGreaterOrEqual, MakeBinary, EvaluateBinary},
    {OperatorKind::kGru, MakeGru, EvaluateGru, Domain::kModerate},
    {OperatorKind::kGruCell, MakeGruCell, EvaluateGruCell, Domain::kModerate},
    {OperatorKind::kHardSigmoid, MakeUnary, EvaluateUnary},
    {OperatorKind::kHardSwish, MakeUnary, EvaluateUnary},
    {OperatorKind::kIdentity, MakeUnary, EvaluateCopy, Domain::kAny, Match::kBits},
    {OperatorKind::kInstanceNormalization, MakeInstanceNormalization, EvaluateInstanceNormalization,
     Domain::kTerms},
    {OperatorKind::kIsInfinite, MakeUnary, EvaluateUnary},
    {OperatorKind::kIsNaN, MakeUnary, EvaluateUnary},
    {OperatorKind::kL2Pool2d, MakePool2d, EvaluatePool2d, Domain::kTerms},
    {OperatorKind::kLayerNormalization, MakeLayerNormalization, EvaluateLayerNormalization,
     Domain::kTerms},
    {OperatorKind::kLeakyRelu, MakeUnary, EvaluateUnary},
    {OperatorKind::kLesser, MakeBinary, EvaluateBinary},
    {OperatorKind::kLesserOrEqual, MakeBinary, EvaluateBinary},
    {OperatorKind::kLinear, MakeUnary, EvaluateUnary},
    {OperatorKind::kLog, MakeUnary, EvaluateUnary},
    {OperatorKind::kLogicalAnd, MakeBinary, EvaluateBinary},
    {OperatorKind::kLogicalNot, MakeUnary, EvaluateUnary},
    {OperatorKind::kLogicalOr, MakeBinary, EvaluateBinary},
    {OperatorKind::kLogicalXor, MakeBinary, EvaluateBinary},
    {OperatorKind::kLstm, MakeLstm, EvaluateLstm, Domain::kModerate},
    {OperatorKind::kLstmCell, MakeLstmCell, EvaluateLstmCell, Domain::kModerate},
    {OperatorKind::kMatmul, MakeMatmul, EvaluateMatmul, Domain::kTerms},
    {OperatorKind::kMax, MakeBinary, EvaluateBinary},
    {OperatorKind::kMaxPool2d, MakePool2d, EvaluatePool2d},
    {OperatorKind::kMin, MakeBinary, EvaluateBinary},
    {OperatorKind::kMul, MakeBinary, EvaluateBinary},
    {OperatorKind::kNeg, MakeUnary, EvaluateUnary},
    {OperatorKind::kNotEqual, MakeBinary, EvaluateBinary},
    {OperatorKind::kPad, MakePad, EvaluatePad, Domain::kAny, Match::kBits},
    {OperatorKind::kPow, MakeBinary, EvaluateBinary},
    {OperatorKind::kPrelu, MakeBinary, EvaluateBinary},
    {OperatorKind::kQuantizeLinear, MakeQuantization, EvaluateQuantizeLinear},
    {OperatorKind::kReciprocal, MakeUnary, EvaluateUnary},
    {OperatorKind::kReduceL1, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kReduceL2, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kReduceLogSum, MakeReduce, EvaluateReduce, Domain::kPositive},
    {OperatorKind::kReduceLogSumExp, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kReduceMax, MakeReduce, EvaluateReduce},
    {OperatorKind::kReduceMean, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kReduceMin, MakeReduce, EvaluateReduce},
    {OperatorKind::kReduceProduct, MakeReduce, EvaluateReduce, Domain::kFactors},
    {OperatorKind::kReduceSum, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kReduceSumSquare, MakeReduce, EvaluateReduce, Domain::kTerms},
    {OperatorKind::kRelu, MakeUnary, EvaluateUnary},
    {OperatorKind::kResample2d, MakeResample2d, EvaluateResample2d, Domain::kTerms},
    {OperatorKind::kReshape, MakeReshape, EvaluateCopy, Domain::kAny, Match::kBits},
    {OperatorKind::kReverse, MakeReverse, EvaluateReverse, Domain::kAny, Match::kBits},
    {OperatorKind::kRoundEven, MakeUnary, EvaluateUnary},
    {OperatorKind::kScatterElements, MakeScatterElements, EvaluateScatterElements, Domain::kAny,
     Match::kBits},
    {OperatorKind::kScatterND, MakeScatterNd, EvaluateScatterNd, Domain::kAny, Match::kBits},
    {OperatorKind::kSigmoid, MakeUnary, EvaluateUnary},
    {OperatorKind::kSign, MakeUnary, EvaluateUnary},
    {OperatorKind::kSin, MakeUnary, EvaluateUnary},
    {OperatorKind::kSlice, MakeSlice, EvaluateSlice, Domain::kAny, Match::kBits},
    {OperatorKind::kSoftmax, MakeSoftmax, EvaluateSoftmax, Domain::kTerms},
    {OperatorKind::kSoftplus, MakeUnary, EvaluateUnary},
    {OperatorKind::kSoftsign, MakeUnary, EvaluateUnary},
    {OperatorKind::kSplit, MakeSplit, EvaluateSplit, Domain::kAny, Match::kBits},
    {OperatorKind::kSqrt, MakeUnary, EvaluateUnary},
    {OperatorKind::kSub, MakeBinary, EvaluateBinary},
    {OperatorKind::kTan, MakeUnary, EvaluateUnary},
    {OperatorKind::kTanh, MakeUnary, EvaluateUnary},
    {OperatorKind::kTile, MakeTile, EvaluateTile, Domain::kAny, Match::kBits},
    {OperatorKind::kTranspose, MakeTranspose, EvaluateTranspose, Domain::kAny, Match::kBits},
    {OperatorKind::kTriangular, MakeTriangular, EvaluateTriangular, Domain::kAny, Match::kBits},
    {OperatorKind::kWhere, MakeWhere, EvaluateWhere, Domain::kAny, Match::kBits},
};
static_assert(std::size(kRows) == webidl::kOperatorKindCount);

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].kind != static_cast<OperatorKind>(i)) return false;
    if (kRows[i].make == nullptr || kRows[i].evaluate == nullptr) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace

const Row& GetRow(OperatorKind kind) { return kRows[static_cast<size_t>(kind)]; }

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

bool IsSigned(OperandDataType type) {
  return type == OperandDataType::kInt64 || type == OperandDataType::kInt32 ||
         type == OperandDataType::kInt8 || type == OperandDataType::kInt4;
}

long double LeastInteger(OperandDataType type) {
  return IsSigned(type) ? -std::ldexp(1.0L, static_cast<int>(webidl::BitsPerElement(type)) - 1) : 0;
}

long double GreatestInteger(OperandDataType type) {
  return LeastInteger(type) + std::ldexp(1.0L, static_cast<int>(webidl::BitsPerElement(type))) - 1;
}

long double RoundToHalf(long double value) {
  if (std::isnan(value) || std::isinf(value) || value == 0) return value;
  long double magnitude = std::fabs(value);
  if (magnitude >= 65520) {
    return std::copysign(std::numeric_limits<long double>::infinity(), value);
  }
  int exponent = std::max(std::ilogb(magnitude), -14) - 10;
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(magnitude, -exponent)), exponent),
                       value);
}

long double RoundTo(OperandDataType type, long double value) {
  if (type == OperandDataType::kFloat32) return static_cast<float>(value);
  if (type == OperandDataType::kFloat16) return RoundToHalf(value);
  long double range = std::ldexp(1.0L, static_cast<int>(webidl::BitsPerElement(type)));
  long double wrapped = std::fmod(std::trunc(value), range);
  if (wrapped < 0) wrapped += range;
  return IsSigned(type) && wrapped >= range / 2 ? wrapped - range : wrapped;
}

long double CastTo(OperandDataType type, const webidl::Number& number) {
  const long double value = std::visit([](auto v) { return static_cast<long double>(v); }, number);
  if (IsFloat(type)) return RoundTo(type, value);
  if (std::isnan(value)) return 0;
  return std::clamp(std::nearbyint(value), LeastInteger(type), GreatestInteger(type));
}

}  // namespace webnnd::reference
