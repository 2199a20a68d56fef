#include <gtest/gtest.h>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

TEST(Matmul, FittingMatrices_Multiply) {
  ExpectOutcomes(
      OperatorKind::kMatmul,
      {{"float32[2,3] float32[3,4]", "float32[2,4]"},
       {"float16[5,2,3] float16[3,4]", "float16[5,2,4]"},
       {"float32[2,3] float32[5,3,4]", "float32[5,2,4]"},
       {"float32[5,1,2,3] float32[6,3,4]", "float32[5,6,2,4]"},
       {"float32[2,2,2,2,2,2,2,3] float32[3,1]", "float32[2,2,2,2,2,2,2,1]"},
       {"float32[2,3] float32[4,3]", "the columns of a (3) are not the rows of b (4)"},
       {"float32[5,2,3] float32[6,3,4]",
        "the batch dimensions of a ([5]) and b ([6]) are not broadcastable"},
       {"float32[3] float32[3,4]", "the rank of a (1) is not in its allowed range (2 to 8)"},
       {"float32[2,3] float32[3]", "the rank of b (1) is not in its allowed range (2 to 8)"},
       {"float32[] float32[]", "the rank of a (0) is not in its allowed range (2 to 8)"},
       {"float32[2,3] float16[3,4]", "the data type of b (float16) is not that of a (float32)"},
       {"int32[2,3] int32[3,4]",
        "the data type of a (int32) is not one of its allowed data types (float32, float16)"},
       {"float32[131072,1] float32[1,131072]",
        "the byte length of float32[131072,131072] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Gemm, FittingMatrices_Multiply) {
  const GemmAttributes plain;
  const GemmAttributes a_transposed{.a_transpose = true};
  const GemmAttributes b_transposed{.b_transpose = true};
  const GemmAttributes both{.a_transpose = true, .b_transpose = true};
  ExpectOutcomes(
      OperatorKind::kGemm,
      {{"float32[2,3] float32[3,4]", plain, "float32[2,4]"},
       {"float32[3,2] float32[3,4]", a_transposed, "float32[2,4]"},
       {"float32[2,3] float32[4,3]", b_transposed, "float32[2,4]"},
       {"float16[3,2] float16[4,3]", both, "float16[2,4]"},
       {"float32[3,2] float32[3,4]", plain, "the columns of a (2) are not the rows of b (3)"},
       {"float32[2,3] float32[3,4]", both, "the columns of a (2) are not the rows of b (4)"},
       {"float32[2,3,1] float32[3,4]", plain, "the rank of a (3) is not its allowed rank (2)"},
       {"float32[2,3] float32[3]", plain, "the rank of b (1) is not its allowed rank (2)"},
       {"float32[2,3] float16[3,4]", plain,
        "the data type of b (float16) is not that of a (float32)"},
       {"int8[2,3] int8[3,4]", plain,
        "the data type of a (int8) is not one of its allowed data types (float32, float16)"}});
}

TEST(Gemm, C_IsBroadcastToTheOutput) {
  const GemmAttributes plain;
  ExpectOutcomes(OperatorKind::kGemm,
                 {{"float32[2,3] float32[3,4] float32[]", plain, "float32[2,4]"},
                  {"float32[2,3] float32[3,4] float32[4]", plain, "float32[2,4]"},
                  {"float32[2,3] float32[3,4] float32[2,1]", plain, "float32[2,4]"},
                  {"float32[2,3] float32[3,4] float32[2,4]", plain, "float32[2,4]"},
                  {"float32[2,3] float32[3,4] float32[2]", plain,
                   "the shape of c ([2]) is not broadcastable to that of the output ([2,4])"},
                  {"float32[1,3] float32[3,4] float32[2,4]", plain,
                   "the shape of c ([2,4]) is not broadcastable to that of the output ([1,4])"},
                  {"float32[2,3] float32[3,4] float32[1,2,4]", plain,
                   "the rank of c (3) is not in its allowed range (0 to 2)"},
                  {"float32[2,3] float32[3,4] float16[4]", plain,
                   "the data type of c (float16) is not that of a (float32)"}});
}

}  // namespace
}  // namespace webnnd::webidl
