#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

constexpr OperatorKind kBinary[] = {OperatorKind::kAdd, OperatorKind::kSub, OperatorKind::kMul,
                                    OperatorKind::kDiv, OperatorKind::kMax, OperatorKind::kMin,
                                    OperatorKind::kPow};
constexpr OperatorKind kComparison[] = {OperatorKind::kEqual,   OperatorKind::kNotEqual,
                                        OperatorKind::kGreater, OperatorKind::kGreaterOrEqual,
                                        OperatorKind::kLesser,  OperatorKind::kLesserOrEqual};
constexpr OperatorKind kLogicalBinary[] = {OperatorKind::kLogicalAnd, OperatorKind::kLogicalOr,
                                           OperatorKind::kLogicalXor};
constexpr OperatorKind kFloatUnary[] = {
    OperatorKind::kCeil,  OperatorKind::kCos,  OperatorKind::kErf,        OperatorKind::kExp,
    OperatorKind::kFloor, OperatorKind::kLog,  OperatorKind::kReciprocal, OperatorKind::kRoundEven,
    OperatorKind::kSin,   OperatorKind::kSqrt, OperatorKind::kTan};
constexpr OperatorKind kSignedUnary[] = {OperatorKind::kAbs, OperatorKind::kNeg,
                                         OperatorKind::kSign};

TEST(Binary, BroadcastableShapes_GiveTheirUnion) {
  for (OperatorKind kind : kBinary) {
    ExpectOutcomes(kind, {
                             {"float32[2,3] float32[2,3]", "float32[2,3]"},
                             {"float32[] float32[]", "float32[]"},
                             {"float32[2,3] float32[]", "float32[2,3]"},
                             {"float32[] float32[2,3]", "float32[2,3]"},
                             {"float32[5,1] float32[1,6]", "float32[5,6]"},
                             {"float32[6] float32[5,1]", "float32[5,6]"},
                             {"int8[3,1,1] int8[2,1,4,1]", "int8[2,3,4,1]"},
                             {"uint64[1,1,1,1,1,1,1,2] uint64[3]",
                              "the shapes of a ([1,1,1,1,1,1,1,2]) and b ([3]) are not "
                              "broadcastable"},
                             {"float32[2,3] float32[2]",
                              "the shapes of a ([2,3]) and b ([2]) are not broadcastable"},
                             {"float32[2] float32[2,3]",
                              "the shapes of a ([2]) and b ([2,3]) are not broadcastable"},
                         });
  }
}

TEST(Binary, TypesThatDiffer_AreRefused) {
  for (OperatorKind kind : kBinary) {
    ExpectOutcomes(
        kind, {{"float32[2] float16[2]", "the data type of b (float16) is not that of a (float32)"},
               {"int4[2] int4[2]",
                "the data type of a (int4) is not one of its allowed data types (float32, float16, "
                "int32, uint32, int64, uint64, int8, uint8)"}});
  }
}

// Two small operands make a result of 64 GiB, or one just too large.
TEST(Binary, ResultBeyondTheMaximum_IsRefused) {
  const std::string rows = std::to_string(limits::kTensorBytesMax / 1024);
  ExpectOutcomes(
      OperatorKind::kAdd,
      {{"float32[131072,1] float32[1,131072]",
        "the byte length of float32[131072,131072] exceeds the maximum ($BYTES_MAX)"},
       {"uint8[" + rows + ",1] uint8[1,1024]", "uint8[" + rows + ",1024]"},
       {"uint8[" + rows + ",1] uint8[1,1025]",
        "the byte length of uint8[" + rows + ",1025] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Comparison, BroadcastableShapes_GiveBooleans) {
  for (OperatorKind kind : kComparison) {
    ExpectOutcomes(
        kind, {{"float32[2,1] float32[3]", "uint8[2,3]"},
               {"int64[] int64[]", "uint8[]"},
               {"float32[2] float32[3]", "the shapes of a ([2]) and b ([3]) are not broadcastable"},
               {"float32[2] int32[2]", "the data type of b (int32) is not that of a (float32)"}});
  }
}

TEST(Logical, Booleans_GiveBooleans) {
  for (OperatorKind kind : kLogicalBinary) {
    ExpectOutcomes(
        kind, {{"uint8[2,1] uint8[3]", "uint8[2,3]"},
               {"uint8[2] uint8[3]", "the shapes of a ([2]) and b ([3]) are not broadcastable"},
               {"int8[2] uint8[2]",
                "the data type of a (int8) is not one of its allowed data types (uint8)"},
               {"uint8[2] int8[2]",
                "the data type of b (int8) is not one of its allowed data types (uint8)"}});
  }
  ExpectOutcomes(OperatorKind::kLogicalNot,
                 {{"uint8[2,3]", "uint8[2,3]"},
                  {"float32[2]",
                   "the data type of a (float32) is not one of its allowed data types (uint8)"}});
}

TEST(Classification, Floats_GiveBooleans) {
  for (OperatorKind kind : {OperatorKind::kIsNaN, OperatorKind::kIsInfinite}) {
    ExpectOutcomes(kind, {{"float32[2,3]", "uint8[2,3]"},
                          {"float16[]", "uint8[]"},
                          {"int32[2]",
                           "the data type of a (int32) is not one of its allowed data types "
                           "(float32, float16)"}});
  }
}

TEST(Unary, AllowedTypes_KeepTypeAndShape) {
  for (OperatorKind kind : kFloatUnary) {
    ExpectOutcomes(kind, {{"float32[2,3]", "float32[2,3]"},
                          {"float16[]", "float16[]"},
                          {"int32[2]",
                           "the data type of input (int32) is not one of its allowed data types "
                           "(float32, float16)"}});
  }
  for (OperatorKind kind : kSignedUnary) {
    ExpectOutcomes(kind, {{"int8[2,3]", "int8[2,3]"},
                          {"int64[]", "int64[]"},
                          {"uint8[2]",
                           "the data type of input (uint8) is not one of its allowed data types "
                           "(float32, float16, int32, int64, int8)"}});
  }
  ExpectOutcomes(OperatorKind::kIdentity,
                 {{"uint64[2,3]", "uint64[2,3]"},
                  {"uint4[2]",
                   "the data type of input (uint4) is not one of its allowed data types (float32, "
                   "float16, int32, uint32, int64, uint64, int8, uint8)"}});
}

TEST(Cast, AnyPairOfTypes_ChangesTheType) {
  for (uint32_t from = 0; from < kOperandDataTypeCount; ++from) {
    for (uint32_t to = 0; to < kOperandDataTypeCount; ++to) {
      const std::string input{ToString(static_cast<OperandDataType>(from))};
      const std::string output{ToString(static_cast<OperandDataType>(to))};
      EXPECT_EQ(Infer(OperatorKind::kCast, input + "[2,3]",
                      CastAttributes{.data_type = static_cast<OperandDataType>(to)}),
                output + "[2,3]");
    }
  }
}

// As many bytes of uint8 as may be; as float32 four times that.
TEST(Cast, ResultBeyondTheMaximum_IsRefused) {
  const std::string size = std::to_string(limits::kTensorBytesMax);
  ExpectOutcomes(OperatorKind::kCast,
                 {{"uint8[" + size + "]", CastAttributes{OperandDataType::kFloat32},
                   "the byte length of float32[" + size + "] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Where, ThreeBroadcastableShapes_GiveTheirUnion) {
  ExpectOutcomes(
      OperatorKind::kWhere,
      {{"uint8[2,1,1] float32[3,1] float32[4]", "float32[2,3,4]"},
       {"uint8[] int64[] int64[]", "int64[]"},
       {"uint8[5,4] float32[] float32[4]", "float32[5,4]"},
       {"uint8[2] float32[3] float32[4]",
        "the shapes of trueValue ([3]) and falseValue ([4]) are not broadcastable"},
       {"uint8[2] float32[3] float32[]",
        "the shape of condition ([2]) and that of the values ([3]) are not broadcastable"},
       {"int8[2] float32[2] float32[2]",
        "the data type of condition (int8) is not one of its allowed data types (uint8)"},
       {"uint8[2] float32[2] float16[2]",
        "the data type of falseValue (float16) is not that of trueValue (float32)"},
       {"uint8[4096,1,1] float32[4096,1] float32[4096]",
        "the byte length of float32[4096,4096,4096] exceeds the maximum ($BYTES_MAX)"}});
}

}  // namespace
}  // namespace webnnd::webidl
