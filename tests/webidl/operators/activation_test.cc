#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

TEST(Activation, Floats_KeepTypeAndShape) {
  for (OperatorKind kind : {OperatorKind::kElu, OperatorKind::kGelu, OperatorKind::kHardSigmoid,
                            OperatorKind::kHardSwish, OperatorKind::kLeakyRelu,
                            OperatorKind::kLinear, OperatorKind::kSigmoid, OperatorKind::kSoftplus,
                            OperatorKind::kSoftsign, OperatorKind::kTanh}) {
    ExpectOutcomes(kind, {{"float32[2,3]", "float32[2,3]"},
                          {"float16[]", "float16[]"},
                          {"int8[2]",
                           "the data type of input (int8) is not one of its allowed data types "
                           "(float32, float16)"}});
  }
}

TEST(Relu, SignedTypes_KeepTypeAndShape) {
  ExpectOutcomes(OperatorKind::kRelu,
                 {{"int8[2,3]", "int8[2,3]"},
                  {"float32[]", "float32[]"},
                  {"uint8[2]",
                   "the data type of input (uint8) is not one of its allowed data types (float32, "
                   "float16, int32, int64, int8)"}});
}

TEST(Softmax, ValidAxis_KeepsTheShape) {
  ExpectOutcomes(OperatorKind::kSoftmax,
                 {{"float32[2,3]", SoftmaxAttributes{.axis = 0}, "float32[2,3]"},
                  {"float16[2,3]", SoftmaxAttributes{.axis = 1}, "float16[2,3]"},
                  {"float32[2,3]", SoftmaxAttributes{.axis = 2},
                   "the axis (2) is not less than the rank of input (2)"},
                  {"float32[]", SoftmaxAttributes{},
                   "the rank of input (0) is not in its allowed range (1 to 8)"},
                  {"int32[2]", SoftmaxAttributes{},
                   "the data type of input (int32) is not one of its allowed data types (float32, "
                   "float16)"}});
}

TEST(Clamp, OrderedBounds_KeepTypeAndShape) {
  const auto clamp = [](Number min_value, Number max_value) {
    return ClampAttributes{.min_value = min_value, .max_value = max_value};
  };
  ExpectOutcomes(
      OperatorKind::kClamp,
      {{"float32[2,3]", ClampAttributes{}, "float32[2,3]"},
       {"float32[2]", ClampAttributes{.min_value = 5.0}, "float32[2]"},
       {"float32[2]", ClampAttributes{.max_value = -5.0}, "float32[2]"},
       {"float32[2]", clamp(1.0, 1.0), "float32[2]"},
       {"float32[2]", clamp(-INFINITY, INFINITY), "float32[2]"},
       {"float32[2]", clamp(2.0, 1.0), "minValue (2) is greater than maxValue (1)"},
       // NaN does not bind.
       {"float32[2]", clamp(NAN, 1.0), "float32[2]"},
       {"int8[2]", clamp(NAN, -2.0), "int8[2]"},
       {"uint8[2]", clamp(2.0, NAN), "uint8[2]"},
       // Equal once cast to the type.
       {"float16[2]", clamp(1.0001, 1.0), "float16[2]"},
       {"float32[2]", clamp(1.0001, 1.0),
        "minValue (1.000100016593933) is greater than maxValue (1)"},
       {"uint8[2]", clamp(-1.0, -2.0), "uint8[2]"},
       {"int8[2]", clamp(-1.0, -2.0), "minValue (-1) is greater than maxValue (-2)"},
       // Beyond what a double tells apart.
       {"int64[2]", clamp(std::numeric_limits<int64_t>::max(), uint64_t{1} << 63), "int64[2]"},
       {"uint64[2]", clamp(uint64_t{1} << 63, std::numeric_limits<int64_t>::max()),
        "minValue (9223372036854775808) is greater than maxValue (9223372036854775807)"}});
}

TEST(Prelu, BroadcastableSlope_GivesTheUnion) {
  ExpectOutcomes(
      OperatorKind::kPrelu,
      {{"float32[2,3] float32[3]", "float32[2,3]"},
       {"float32[3] float32[2,3]", "float32[2,3]"},
       {"int8[2,1] int8[1,3]", "int8[2,3]"},
       {"float32[2,3] float32[2]",
        "the shapes of slope ([2]) and input ([2,3]) are not broadcastable"},
       {"float32[2] float16[2]", "the data type of slope (float16) is not that of input (float32)"},
       {"uint8[2] uint8[2]",
        "the data type of input (uint8) is not one of its allowed data types (float32, float16, "
        "int32, int64, int8)"}});
}

}  // namespace
}  // namespace webnnd::webidl
