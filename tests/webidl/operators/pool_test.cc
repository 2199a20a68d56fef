#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

constexpr uint32_t kMaxUint32 = 4294967295u;
constexpr OperatorKind kPools[] = {OperatorKind::kAveragePool2d, OperatorKind::kL2Pool2d,
                                   OperatorKind::kMaxPool2d};
using A = Pool2dAttributes;

TEST(Pool2d, Windows_GiveTheOutputSize) {
  for (OperatorKind kind : kPools) {
    ExpectOutcomes(
        kind,
        {{"float32[1,2,5,7]", A{}, "float32[1,2,1,1]"},
         {"float32[1,2,5,7]", A{.window_dimensions = {{3, 2}}}, "float32[1,2,3,6]"},
         {"float16[1,5,7,2]", A{.window_dimensions = {{3, 2}}, .layout = InputOperandLayout::kNhwc},
          "float16[1,3,6,2]"},
         {"float32[1,2,5,5]", A{.window_dimensions = {{3, 3}}, .padding = {{1, 0, 0, 2}}},
          "float32[1,2,4,5]"},
         {"float32[1,2,7,7]", A{.window_dimensions = {{4, 4}}, .dilations = {{2, 1}}},
          "float32[1,2,1,4]"},
         {"float32[1,2,5,5]", A{.window_dimensions = {{5, 5}}, .strides = {{kMaxUint32, 1}}},
          "float32[1,2,1,1]"}});
  }
}

TEST(Pool2d, Rounding_DecidesOnPartialWindows) {
  const auto pool = [](RoundingType rounding, uint32_t window, uint32_t stride) {
    return A{.window_dimensions = {{window, window}},
             .strides = {{stride, stride}},
             .output_shape_rounding = rounding};
  };
  for (OperatorKind kind : kPools) {
    ExpectOutcomes(kind,
                   {{"float32[1,2,6,5]", pool(RoundingType::kFloor, 3, 2), "float32[1,2,2,2]"},
                    {"float32[1,2,6,5]", pool(RoundingType::kCeil, 3, 2), "float32[1,2,3,2]"},
                    // (3 - 4) / 2 + 1 is a half: none, or one that hangs over.
                    {"float32[1,2,3,4]", pool(RoundingType::kFloor, 4, 2),
                     "the height of the output (0) is not a valid dimension (1 to 2147483647)"},
                    {"float32[1,2,3,4]", pool(RoundingType::kCeil, 4, 2), "float32[1,2,1,1]"},
                    {"float32[1,2,2,4]", pool(RoundingType::kCeil, 4, 2),
                     "the height of the output (0) is not a valid dimension (1 to 2147483647)"}});
  }
}

TEST(Pool2d, OutputSizes_AreBothRoundedDownOrBothUp) {
  const auto sizes = [](std::vector<uint32_t> sizes, RoundingType rounding = RoundingType::kFloor) {
    return A{.window_dimensions = {{3, 3}},
             .padding = {{1, 0, 0, 1}},
             .strides = {{2, 2}},
             .output_shape_rounding = rounding,
             .output_sizes = std::move(sizes)};
  };
  for (OperatorKind kind : kPools) {
    ExpectOutcomes(
        kind, {{"float32[1,2,5,5]", sizes({3, 3}), "float32[1,2,3,3]"},
               {"float32[1,2,5,5]", sizes({2, 2}, RoundingType::kCeil), "float32[1,2,2,2]"},
               {"float32[1,2,5,5]", sizes({2, 3}),
                "outputSizes ([2,3]) is neither the calculated size rounded down ([2,2]) nor up "
                "([3,3])"},
               {"float32[1,2,5,5]", sizes({4, 4}),
                "outputSizes ([4,4]) is neither the calculated size rounded down ([2,2]) nor up "
                "([3,3])"},
               {"float32[1,2,5,5]", sizes({2}),
                "the size of outputSizes (1) is not the expected one (2)"},
               {"float32[1,2,1,5]", sizes({0, 2}),
                "the height of the output (0) is not a valid dimension (1 to 2147483647)"}});
  }
}

TEST(Pool2d, WindowsThatDoNotFit_AreRefused) {
  for (OperatorKind kind : kPools) {
    ExpectOutcomes(
        kind,
        {{"float32[1,2,5,5]", A{.window_dimensions = {{6, 5}}},
          "the height of the output (0) is not a valid dimension (1 to 2147483647)"},
         {"float32[1,2,5,5]",
          A{.window_dimensions = {{kMaxUint32, 1}}, .dilations = {{kMaxUint32, 1}}},
          "the height of the output (-2305843009213693947) is not a valid dimension (1 to "
          "2147483647)"},
         {"float32[1,2,5,5]", A{.window_dimensions = {{1, kMaxUint32}}},
          "the width of the output (-4294967289) is not a valid dimension (1 to 2147483647)"},
         {"float32[1,2,5,5]",
          A{.window_dimensions = {{1, 1}}, .padding = {{0, 0, kMaxUint32, kMaxUint32}}},
          "the width of the output (8589934595) is not a valid dimension (1 to 2147483647)"},
         {"float32[1,2,5,5]", A{.window_dimensions = {{1, 1}}, .padding = {{65531, 0, 65531, 0}}},
          "the byte length of float32[1,2,65536,65536] exceeds the maximum ($BYTES_MAX)"}});
  }
}

TEST(Pool2d, Lists_HaveTheirSizes) {
  for (OperatorKind kind : kPools) {
    ExpectOutcomes(
        kind,
        {{"float32[1,2,5,5]", A{.window_dimensions = {{3, 3, 3}}},
          "the size of windowDimensions (3) is not the expected one (2)"},
         {"float32[1,2,5,5]", A{.window_dimensions = {{3, 0}}},
          "windowDimensions[1] (0) is not greater than zero"},
         {"float32[1,2,5,5]", A{.padding = {{1, 1}}},
          "the size of padding (2) is not the expected one (4)"},
         {"float32[1,2,5,5]", A{.strides = std::vector<uint32_t>{}},
          "the size of strides (0) is not the expected one (2)"},
         {"float32[1,2,5,5]", A{.strides = {{0, 1}}}, "strides[0] (0) is not greater than zero"},
         {"float32[1,2,5,5]", A{.dilations = std::vector<uint32_t>{1}},
          "the size of dilations (1) is not the expected one (2)"},
         {"float32[1,2,5,5]", A{.dilations = {{1, 0}}},
          "dilations[1] (0) is not greater than zero"},
         {"float32[2,5,5]", A{}, "the rank of input (3) is not its allowed rank (4)"}});
  }
}

TEST(Pool2d, Types_AreThoseOfTheDraft) {
  ExpectOutcomes(OperatorKind::kMaxPool2d,
                 {{"uint8[1,1,2,2]", "uint8[1,1,1,1]"}, {"int64[1,1,2,2]", "int64[1,1,1,1]"}});
  for (OperatorKind kind : {OperatorKind::kAveragePool2d, OperatorKind::kL2Pool2d}) {
    ExpectOutcomes(kind, {{"uint8[1,1,2,2]",
                           "the data type of input (uint8) is not one of its allowed data types "
                           "(float32, float16)"}});
  }
}

}  // namespace
}  // namespace webnnd::webidl
