#include "tests/reference/reference.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

struct Entry {
  OperatorKind kind;
  Row row;
};

// Tolerances are the conformance suite's where it has one for the operator, and never wider.
constexpr Entry kEntries[] = {
    {OperatorKind::kAbs, {EvaluateUnary, 0}},
    {OperatorKind::kAdd, {EvaluateBinary, 1}},
    {OperatorKind::kArgMax, {EvaluateArgMinMax, 0, Domain::kNumbers}},
    {OperatorKind::kArgMin, {EvaluateArgMinMax, 0, Domain::kNumbers}},
    {OperatorKind::kCast, {EvaluateCast, 1, Domain::kModerate}},
    {OperatorKind::kCeil, {EvaluateUnary, 0}},
    {OperatorKind::kClamp, {EvaluateClamp, 0, Domain::kNumbers}},
    {OperatorKind::kConcat, {EvaluateConcat, 0}},
    {OperatorKind::kCumulativeSum, {EvaluateCumulativeSum, 32, Domain::kModerate}},
    {OperatorKind::kDequantizeLinear, {EvaluateDequantizeLinear, 1, Domain::kModerate}},
    {OperatorKind::kDiv, {EvaluateBinary, 2, Domain::kNonzero}},
    {OperatorKind::kEqual, {EvaluateBinary, 0}},
    {OperatorKind::kExp, {EvaluateUnary, 32, Domain::kModerate}},
    {OperatorKind::kExpand, {EvaluateExpand, 0}},
    {OperatorKind::kFloor, {EvaluateUnary, 0}},
    {OperatorKind::kGather, {EvaluateGather, 0}},
    {OperatorKind::kGatherElements, {EvaluateGatherElements, 0}},
    {OperatorKind::kGatherND, {EvaluateGatherNd, 0}},
    {OperatorKind::kGemm, {EvaluateGemm, 4, Domain::kModerate}},
    {OperatorKind::kGreater, {EvaluateBinary, 0}},
    {OperatorKind::kGreaterOrEqual, {EvaluateBinary, 0}},
    {OperatorKind::kIdentity, {EvaluateCopy, 0}},
    {OperatorKind::kLesser, {EvaluateBinary, 0}},
    {OperatorKind::kLesserOrEqual, {EvaluateBinary, 0}},
    {OperatorKind::kLogicalAnd, {EvaluateBinary, 0}},
    {OperatorKind::kLogicalNot, {EvaluateUnary, 0}},
    {OperatorKind::kLogicalOr, {EvaluateBinary, 0}},
    {OperatorKind::kLogicalXor, {EvaluateBinary, 0}},
    {OperatorKind::kMatmul, {EvaluateMatmul, 4, Domain::kModerate}},
    {OperatorKind::kMax, {EvaluateBinary, 0, Domain::kNumbers}},
    {OperatorKind::kMin, {EvaluateBinary, 0, Domain::kNumbers}},
    {OperatorKind::kMul, {EvaluateBinary, 1}},
    {OperatorKind::kNeg, {EvaluateUnary, 0}},
    {OperatorKind::kNotEqual, {EvaluateBinary, 0}},
    {OperatorKind::kPad, {EvaluatePad, 0}},
    {OperatorKind::kPow, {EvaluateBinary, 32, Domain::kPowers}},
    {OperatorKind::kQuantizeLinear, {EvaluateQuantizeLinear, 1, Domain::kModerate}},
    {OperatorKind::kReduceL1, {EvaluateReduce, 4, Domain::kModerate}},
    {OperatorKind::kReduceL2, {EvaluateReduce, 4, Domain::kModerate}},
    {OperatorKind::kReduceLogSum, {EvaluateReduce, 18, Domain::kPositive}},
    {OperatorKind::kReduceLogSumExp, {EvaluateReduce, 18, Domain::kModerate}},
    {OperatorKind::kReduceMax, {EvaluateReduce, 0, Domain::kNumbers}},
    {OperatorKind::kReduceMean, {EvaluateReduce, 4, Domain::kModerate}},
    {OperatorKind::kReduceMin, {EvaluateReduce, 0, Domain::kNumbers}},
    {OperatorKind::kReduceProduct, {EvaluateReduce, 32, Domain::kModerate}},
    {OperatorKind::kReduceSum, {EvaluateReduce, 4, Domain::kModerate}},
    {OperatorKind::kReduceSumSquare, {EvaluateReduce, 4, Domain::kModerate}},
    {OperatorKind::kRelu, {EvaluateUnary, 0, Domain::kNumbers}},
    {OperatorKind::kReshape, {EvaluateCopy, 0}},
    {OperatorKind::kReverse, {EvaluateReverse, 0}},
    {OperatorKind::kScatterElements, {EvaluateScatterElements, 0}},
    {OperatorKind::kScatterND, {EvaluateScatterNd, 0}},
    {OperatorKind::kSigmoid, {EvaluateUnary, 34, Domain::kModerate}},
    {OperatorKind::kSign, {EvaluateUnary, 0, Domain::kNumbers}},
    {OperatorKind::kSlice, {EvaluateSlice, 0}},
    {OperatorKind::kSoftmax, {EvaluateSoftmax, 64, Domain::kModerate}},
    {OperatorKind::kSplit, {EvaluateSplit, 0}},
    {OperatorKind::kSqrt, {EvaluateUnary, 1, Domain::kPositive}},
    {OperatorKind::kSub, {EvaluateBinary, 1}},
    {OperatorKind::kTanh, {EvaluateUnary, 44, Domain::kModerate}},
    {OperatorKind::kTile, {EvaluateTile, 0}},
    {OperatorKind::kTranspose, {EvaluateTranspose, 0}},
    {OperatorKind::kTriangular, {EvaluateTriangular, 0}},
    {OperatorKind::kWhere, {EvaluateWhere, 0}},
};

constexpr std::array<Row, webidl::kOperatorKindCount> MakeRows() {
  std::array<Row, webidl::kOperatorKindCount> rows{};
  for (const Entry& entry : kEntries) rows[static_cast<size_t>(entry.kind)] = entry.row;
  return rows;
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

}  // namespace

const Row& GetRow(OperatorKind kind) {
  static constexpr std::array<Row, webidl::kOperatorKindCount> kRows = MakeRows();
  return kRows[static_cast<size_t>(kind)];
}

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

long double RoundTo(OperandDataType type, long double value) {
  if (type == OperandDataType::kFloat32) return static_cast<float>(value);
  if (type == OperandDataType::kFloat16) return RoundToHalf(value);
  long double range = std::ldexp(1.0L, static_cast<int>(webidl::BitsPerElement(type)));
  long double wrapped = std::fmod(std::trunc(value), range);
  if (wrapped < 0) wrapped += range;
  bool is_signed = type == OperandDataType::kInt64 || type == OperandDataType::kInt32 ||
                   type == OperandDataType::kInt8 || type == OperandDataType::kInt4;
  return is_signed && wrapped >= range / 2 ? wrapped - range : wrapped;
}

}  // namespace webnnd::reference
