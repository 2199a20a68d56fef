#include <gtest/gtest.h>

#include <vector>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

constexpr OperatorKind kReductions[] = {
    OperatorKind::kReduceL1,        OperatorKind::kReduceL2,      OperatorKind::kReduceLogSum,
    OperatorKind::kReduceLogSumExp, OperatorKind::kReduceMax,     OperatorKind::kReduceMean,
    OperatorKind::kReduceMin,       OperatorKind::kReduceProduct, OperatorKind::kReduceSum,
    OperatorKind::kReduceSumSquare};

ReduceAttributes Axes(std::vector<uint32_t> axes, bool keep_dimensions = false) {
  return {.axes = std::move(axes), .keep_dimensions = keep_dimensions};
}

TEST(Reduction, ValidAxes_AreRemovedOrKept) {
  const ReduceAttributes all;
  const ReduceAttributes all_kept{.keep_dimensions = true};
  for (OperatorKind kind : kReductions) {
    ExpectOutcomes(kind, {{"float32[2,3,4]", all, "float32[]"},
                          {"float32[2,3,4]", all_kept, "float32[1,1,1]"},
                          {"float16[2,3,4]", Axes({1}), "float16[2,4]"},
                          {"float32[2,3,4]", Axes({2, 0}), "float32[3]"},
                          {"float32[2,3,4]", Axes({2, 0}, true), "float32[1,3,1]"},
                          {"float32[2,3,4]", Axes({}), "float32[2,3,4]"},
                          {"float32[2,3,4]", Axes({}, true), "float32[2,3,4]"},
                          {"float32[]", all, "float32[]"},
                          {"float32[]", Axes({}), "float32[]"},
                          {"float32[1,1,1,1,1,1,1,2]", Axes({7}), "float32[1,1,1,1,1,1,1]"}});
  }
}

TEST(Reduction, InvalidAxes_AreRefused) {
  for (OperatorKind kind : kReductions) {
    ExpectOutcomes(
        kind, {{"float32[2,3]", Axes({2}), "axes[0] (2) is not less than the rank of input (2)"},
               {"float32[2,3]", Axes({0, 4294967295u}),
                "axes[1] (4294967295) is not less than the rank of input (2)"},
               {"float32[2,3]", Axes({1, 1}), "axes[1] (1) is a duplicate"},
               {"float32[2,3]", Axes({1, 0, 1}, true), "axes[2] (1) is a duplicate"},
               {"float32[]", Axes({0}), "axes[0] (0) is not less than the rank of input (0)"}});
  }
}

TEST(Reduction, Types_AreThoseOfTheDraft) {
  for (OperatorKind kind : {OperatorKind::kReduceL1, OperatorKind::kReduceProduct,
                            OperatorKind::kReduceSum, OperatorKind::kReduceSumSquare}) {
    ExpectOutcomes(kind, {{"uint64[2]", "uint64[]"},
                          {"int32[2]", "int32[]"},
                          {"int8[2]",
                           "the data type of input (int8) is not one of its allowed data types "
                           "(float32, float16, int32, uint32, int64, uint64)"}});
  }
  for (OperatorKind kind : {OperatorKind::kReduceL2, OperatorKind::kReduceLogSum,
                            OperatorKind::kReduceLogSumExp, OperatorKind::kReduceMean}) {
    ExpectOutcomes(kind, {{"int32[2]",
                           "the data type of input (int32) is not one of its allowed data types "
                           "(float32, float16)"}});
  }
  for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
    ExpectOutcomes(kind, {{"uint8[2]", "uint8[]"}});
  }
}

TEST(ArgMinMax, ValidAxis_IsReduced) {
  for (OperatorKind kind : {OperatorKind::kArgMin, OperatorKind::kArgMax}) {
    ExpectOutcomes(
        kind,
        {{"float32[2,3,4]", ArgMinMaxAttributes{.axis = 1}, "int32[2,4]"},
         {"float32[2,3,4]", ArgMinMaxAttributes{.axis = 2, .keep_dimensions = true},
          "int32[2,3,1]"},
         {"uint8[5]", ArgMinMaxAttributes{.output_data_type = OperandDataType::kInt64}, "int64[]"},
         {"float32[2,3]", ArgMinMaxAttributes{.axis = 2},
          "the axis (2) is not less than the rank of input (2)"},
         {"float32[]", ArgMinMaxAttributes{},
          "the rank of input (0) is not in its allowed range (1 to 8)"},
         {"float32[5]", ArgMinMaxAttributes{.output_data_type = OperandDataType::kUint32},
          "outputDataType (uint32) is not one of the allowed data types (int32, int64)"}});
  }
}

TEST(CumulativeSum, ValidAxis_KeepsTheShape) {
  ExpectOutcomes(
      OperatorKind::kCumulativeSum,
      {{"float32[2,3]", CumulativeSumAttributes{.axis = 1}, "float32[2,3]"},
       {"uint64[4]", CumulativeSumAttributes{.exclusive = true, .reversed = true}, "uint64[4]"},
       {"float32[2,3]", CumulativeSumAttributes{.axis = 2},
        "the axis (2) is not less than the rank of input (2)"},
       {"float32[]", CumulativeSumAttributes{},
        "the rank of input (0) is not in its allowed range (1 to 8)"},
       {"int8[4]", CumulativeSumAttributes{},
        "the data type of input (int8) is not one of its allowed data types (float32, float16, "
        "int32, uint32, int64, uint64)"}});
}

}  // namespace
}  // namespace webnnd::webidl
