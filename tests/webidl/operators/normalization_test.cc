#include <gtest/gtest.h>

#include <vector>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

TEST(BatchNormalization, FeaturesOfTheAxis_KeepTypeAndShape) {
  const auto axis = [](uint32_t axis) { return BatchNormalizationAttributes{.axis = axis}; };
  ExpectOutcomes(
      OperatorKind::kBatchNormalization,
      {{"float32[2,3,4,5] float32[3] float32[3]", axis(1), "float32[2,3,4,5]"},
       {"float32[2,3,4,5] float32[5] float32[5] float32[5] float32[5]", axis(3),
        "float32[2,3,4,5]"},
       {"float16[7] float16[7] float16[7] - float16[7]", axis(0), "float16[7]"},
       {"float32[2,3] float32[3] float32[3]", axis(2),
        "the axis (2) is not less than the rank of input (2)"},
       {"float32[7] float32[7] float32[7]", axis(1),
        "the axis (1) is not less than the rank of input (1)"},
       {"float32[2,3] float32[2] float32[3]", axis(1),
        "the shape of mean ([2]) is not the expected one ([3])"},
       {"float32[2,3] float32[3] float32[2]", axis(1),
        "the shape of variance ([2]) is not the expected one ([3])"},
       {"float32[2,3] float32[3] float32[3] float32[1]", axis(1),
        "the shape of scale ([1]) is not the expected one ([3])"},
       {"float32[2,3] float32[3] float32[3] float32[3] float32[4]", axis(1),
        "the shape of bias ([4]) is not the expected one ([3])"},
       {"float32[2,3] float32[3] - ", axis(1), "the required operand (variance) is absent"},
       {"float32[2,3] float16[3] float32[3]", axis(1),
        "the data type of mean (float16) is not that of input (float32)"},
       {"float32[2,3] float32[3] float32[3] - float16[3]", axis(1),
        "the data type of bias (float16) is not that of input (float32)"},
       {"float32[2,3] float32[1,3] float32[3]", axis(1),
        "the rank of mean (2) is not its allowed rank (1)"},
       {"float32[] float32[1] float32[1]", axis(0),
        "the rank of input (0) is not in its allowed range (1 to 8)"}});
}

TEST(Normalization, OperandsOfAnotherType_AreRefused) {
  ExpectSameTypes(OperatorKind::kBatchNormalization,
                  "float32[2,3] float32[3] float32[3] float32[3] float32[3]",
                  BatchNormalizationAttributes{});
  ExpectSameTypes(OperatorKind::kInstanceNormalization, "float32[2,3,4,5] float32[3] float32[3]",
                  InstanceNormalizationAttributes{});
  ExpectSameTypes(OperatorKind::kLayerNormalization, "float32[2,3,4] float32[3,4] float32[3,4]",
                  LayerNormalizationAttributes{});
}

TEST(InstanceNormalization, FeaturesOfTheChannels_KeepTypeAndShape) {
  const InstanceNormalizationAttributes nchw;
  const InstanceNormalizationAttributes nhwc{.layout = InputOperandLayout::kNhwc};
  ExpectOutcomes(OperatorKind::kInstanceNormalization,
                 {{"float32[2,3,4,5]", nchw, "float32[2,3,4,5]"},
                  {"float32[2,3,4,5] float32[3] float32[3]", nchw, "float32[2,3,4,5]"},
                  {"float16[2,3,4,5] - float16[5]", nhwc, "float16[2,3,4,5]"},
                  {"float32[2,3,4,5] float32[3]", nhwc,
                   "the shape of scale ([3]) is not the expected one ([5])"},
                  {"float32[2,3,4,5] - float32[5]", nchw,
                   "the shape of bias ([5]) is not the expected one ([3])"},
                  {"float32[2,3,4,5] float16[3]", nchw,
                   "the data type of scale (float16) is not that of input (float32)"},
                  {"float32[2,3,4]", nchw, "the rank of input (3) is not its allowed rank (4)"},
                  {"int32[2,3,4,5]", nchw,
                   "the data type of input (int32) is not one of its allowed data types (float32, "
                   "float16)"}});
}

TEST(LayerNormalization, DimensionsOfTheAxes_KeepTypeAndShape) {
  const LayerNormalizationAttributes plain;
  const auto axes = [](std::vector<uint32_t> axes) {
    return LayerNormalizationAttributes{.axes = std::move(axes)};
  };
  ExpectOutcomes(
      OperatorKind::kLayerNormalization,
      {{"float32[2,3,4]", plain, "float32[2,3,4]"},
       {"float32[2,3,4] float32[3,4] float32[3,4]", plain, "float32[2,3,4]"},
       {"float32[7] float32[]", plain, "float32[7]"},
       {"float32[]", plain, "float32[]"},
       {"float32[]", axes({}), "float32[]"},
       {"float16[2,3,4] float16[4]", axes({2}), "float16[2,3,4]"},
       {"float32[2,3,4] float32[4,2] float32[4,2]", axes({2, 0}), "float32[2,3,4]"},
       {"float32[2,3,4] float32[2,4]", axes({2, 0}),
        "the shape of scale ([2,4]) is not the expected one ([4,2])"},
       {"float32[2,3,4] - float32[4]", axes({2, 0}),
        "the shape of bias ([4]) is not the expected one ([4,2])"},
       {"float32[2,3,4] float32[2,3,4]", plain,
        "the shape of scale ([2,3,4]) is not the expected one ([3,4])"},
       {"float32[2,3,4]", axes({3}), "axes[0] (3) is not less than the rank of input (3)"},
       {"float32[2,3,4]", axes({1, 1}), "axes[1] (1) is a duplicate"},
       {"float32[2,3,4] float16[3,4]", plain,
        "the data type of scale (float16) is not that of input (float32)"},
       {"int8[2]", plain,
        "the data type of input (int8) is not one of its allowed data types (float32, "
        "float16)"}});
}

}  // namespace
}  // namespace webnnd::webidl
