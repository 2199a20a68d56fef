#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

TEST(DequantizeLinear, BlocksThatFit_GiveTheScalesType) {
  ExpectOutcomes(
      OperatorKind::kDequantizeLinear,
      {{"int8[4,6] float32[1,1] int8[1,1]", "float32[4,6]"},
       {"uint8[4,6] float16[4,1] uint8[4,1]", "float16[4,6]"},
       {"int4[4,6] float32[2,3] int4[2,3]", "float32[4,6]"},
       {"uint4[4,6] float32[4,6] uint4[4,6]", "float32[4,6]"},
       {"int32[] float32[] int32[]", "float32[]"},
       {"uint32[3] float32[3] uint32[3]", "float32[3]"},
       {"int8[4,6] float32[3,1] int8[3,1]",
        "the shape of scale ([3,1]) is not blockwise broadcastable to that of input ([4,6])"},
       {"int8[4,6] float32[8,1] int8[8,1]",
        "the shape of scale ([8,1]) is not blockwise broadcastable to that of input ([4,6])"},
       {"int8[6] float32[1,6] int8[1,6]", "the rank of scale (2) exceeds that of input (1)"},
       {"int8[4,6] float32[4,6] int8[6]",
        "the shape of zeroPoint ([6]) is not that of scale ([4,6])"},
       {"int8[4,6] float32[2,1] int8[1,1]",
        "the shape of zeroPoint ([1,1]) is not that of scale ([2,1])"},
       {"int8[4] float32[1] uint8[1]",
        "the data type of zeroPoint (uint8) is not that of input (int8)"},
       {"int8[4] int8[1] int8[1]",
        "the data type of scale (int8) is not one of its allowed data types (float32, float16)"},
       {"int64[4] float32[1] int64[1]",
        "the data type of input (int64) is not one of its allowed data types (int32, uint32, int8, "
        "uint8, int4, uint4)"}});
}

TEST(DequantizeLinear, ResultBeyondTheMaximum_IsRefused) {
  const std::string count = std::to_string(limits::kTensorBytesMax * 2);
  ExpectOutcomes(OperatorKind::kDequantizeLinear,
                 {{"int4[" + count + "] float32[1] int4[1]",
                   "the byte length of float32[" + count + "] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(QuantizeLinear, BlocksThatFit_GiveTheZeroPointsType) {
  ExpectOutcomes(
      OperatorKind::kQuantizeLinear,
      {{"float32[4,6] float32[1,1] int8[1,1]", "int8[4,6]"},
       {"float16[4,6] float16[2,3] uint4[2,3]", "uint4[4,6]"},
       {"float32[] float32[] int32[]", "int32[]"},
       {"float32[4,6] float32[1,4] int8[1,4]",
        "the shape of scale ([1,4]) is not blockwise broadcastable to that of input ([4,6])"},
       {"float32[4,6] float32[1,4,6] int8[1,4,6]",
        "the rank of scale (3) exceeds that of input (2)"},
       {"float32[4,6] float32[1,1] int8[1]",
        "the shape of zeroPoint ([1]) is not that of scale ([1,1])"},
       {"float32[4,6] float32[1,6] int8[4,1]",
        "the shape of zeroPoint ([4,1]) is not that of scale ([1,6])"},
       {"float32[4] float16[1] int8[1]",
        "the data type of scale (float16) is not that of input (float32)"},
       {"float32[4] float32[1] float32[1]",
        "the data type of zeroPoint (float32) is not one of its allowed data types (int32, uint32, "
        "int8, uint8, int4, uint4)"},
       {"int32[4] float32[1] int8[1]",
        "the data type of input (int32) is not one of its allowed data types (float32, "
        "float16)"}});
}

TEST(QuantizationPair, ScaleOfLowerRank_LacksLeadingDimensions) {
  ExpectOutcomes(OperatorKind::kDequantizeLinear,
                 {{"int8[4,6] float32[] int8[]", "float32[4,6]"},
                  {"int8[4,6] float32[6] int8[6]", "float32[4,6]"},
                  {"int4[5,4,6] float32[2,3] int4[2,3]", "float32[5,4,6]"},
                  {"int8[4,6] float32[4] int8[4]",
                   "the shape of scale ([4]) is not blockwise broadcastable to that of input "
                   "([4,6])"}});
  ExpectOutcomes(OperatorKind::kQuantizeLinear,
                 {{"float32[4,6] float32[] int8[]", "int8[4,6]"},
                  {"float32[3,4] float32[2] int4[2]", "int4[3,4]"},
                  {"float32[4,6] float32[4] int8[4]",
                   "the shape of scale ([4]) is not blockwise broadcastable to that of input "
                   "([4,6])"}});
}

}  // namespace
}  // namespace webnnd::webidl
