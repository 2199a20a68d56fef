#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

constexpr uint32_t kMaxUint32 = 4294967295u;

TEST(Conv2d, Windows_GiveTheOutputSize) {
  ExpectOutcomes(OperatorKind::kConv2d,
                 {{"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{}, "float32[1,1,3,3]"},
                  {"float16[2,3,7,9] float16[4,3,3,2]", Conv2dAttributes{}, "float16[2,4,5,8]"},
                  {"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{.padding = {{1, 1, 1, 1}}},
                   "float32[1,1,5,5]"},
                  // Height gets the first two, width the last two.
                  {"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{.padding = {{1, 2, 0, 4}}},
                   "float32[1,1,6,7]"},
                  {"float32[1,1,5,6] float32[1,1,3,3]", Conv2dAttributes{.strides = {{2, 3}}},
                   "float32[1,1,2,2]"},
                  {"float32[1,1,6,6] float32[1,1,3,3]", Conv2dAttributes{.strides = {{2, 2}}},
                   "float32[1,1,2,2]"},
                  {"float32[1,1,7,7] float32[1,1,3,3]", Conv2dAttributes{.dilations = {{2, 3}}},
                   "float32[1,1,3,1]"},
                  {"float32[1,1,3,3] float32[1,1,3,3]", Conv2dAttributes{}, "float32[1,1,1,1]"},
                  {"float32[1,1,3,3] float32[1,1,3,3]",
                   Conv2dAttributes{.strides = {{kMaxUint32, 1}}}, "float32[1,1,1,1]"}});
}

TEST(Conv2d, WindowsThatDoNotFit_AreRefused) {
  ExpectOutcomes(
      OperatorKind::kConv2d,
      {{"float32[1,1,3,5] float32[1,1,4,3]", Conv2dAttributes{},
        "the height of the output (0) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1,5,5] float32[1,1,3,9]", Conv2dAttributes{},
        "the width of the output (-3) is not a valid dimension (1 to 2147483647)"},
       // (3 - 4) / 2 + 1 is a half, and rounds down to none.
       {"float32[1,1,3,5] float32[1,1,4,3]", Conv2dAttributes{.strides = {{2, 2}}},
        "the height of the output (0) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{.dilations = {{3, 1}}},
        "the height of the output (-1) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{.dilations = {{kMaxUint32, 1}}},
        "the height of the output (-8589934585) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1,5,5] float32[1,1,3,3]",
        Conv2dAttributes{.padding = {{kMaxUint32, kMaxUint32, 0, 0}}},
        "the height of the output (8589934593) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1,5,5] float32[1,1,3,3]", Conv2dAttributes{.padding = {{0, 65536, 0, 65536}}},
        "the byte length of float32[1,1,65539,65539] exceeds the maximum ($BYTES_MAX)"},
       {"float32[65536,1,1,1] float32[65536,1,1,1]", Conv2dAttributes{},
        "the byte length of float32[65536,65536,1,1] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Conv2d, Layouts_PlaceTheDimensions) {
  const auto layouts = [](InputOperandLayout input, Conv2dFilterOperandLayout filter) {
    return Conv2dAttributes{.input_layout = input, .filter_layout = filter};
  };
  using enum Conv2dFilterOperandLayout;
  // 3 channels to 4, a window of 2 x 5 over 6 x 7.
  ExpectOutcomes(OperatorKind::kConv2d,
                 {{"float32[1,3,6,7] float32[4,3,2,5]", layouts(InputOperandLayout::kNchw, kOihw),
                   "float32[1,4,5,3]"},
                  {"float32[1,3,6,7] float32[2,5,3,4]", layouts(InputOperandLayout::kNchw, kHwio),
                   "float32[1,4,5,3]"},
                  {"float32[1,3,6,7] float32[4,2,5,3]", layouts(InputOperandLayout::kNchw, kOhwi),
                   "float32[1,4,5,3]"},
                  {"float32[1,3,6,7] float32[3,2,5,4]", layouts(InputOperandLayout::kNchw, kIhwo),
                   "float32[1,4,5,3]"},
                  {"float32[1,6,7,3] float32[4,3,2,5]", layouts(InputOperandLayout::kNhwc, kOihw),
                   "float32[1,5,3,4]"},
                  {"float32[1,6,7,3] float32[2,5,3,4]", layouts(InputOperandLayout::kNhwc, kHwio),
                   "float32[1,5,3,4]"},
                  {"float32[1,3,6,7] float32[4,3,2,5]", layouts(InputOperandLayout::kNhwc, kOihw),
                   "the input channels of filter (3) are not those of input in each group (7)"}});
}

TEST(Conv2d, Groups_DivideTheChannels) {
  const auto groups = [](uint32_t groups) { return Conv2dAttributes{.groups = groups}; };
  ExpectOutcomes(
      OperatorKind::kConv2d,
      {{"float32[1,4,5,5] float32[4,1,3,3]", groups(4), "float32[1,4,3,3]"},
       {"float32[1,4,5,5] float32[6,2,3,3]", groups(2), "float32[1,6,3,3]"},
       {"float32[1,4,5,5] float32[6,2,3,3]", groups(0), "groups (0) is not greater than zero"},
       {"float32[1,4,5,5] float32[6,2,3,3]", groups(3),
        "groups (3) does not divide the channels of input (4)"},
       {"float32[1,4,5,5] float32[6,2,3,3]", groups(1),
        "the input channels of filter (2) are not those of input in each group (4)"},
       {"float32[1,4,5,5] float32[5,2,3,3]", groups(2),
        "groups (2) does not divide the output channels of filter (5)"},
       {"float32[1,4,5,5] float32[6,2,3,3]", groups(kMaxUint32),
        "groups (4294967295) does not divide the channels of input (4)"}});
}

TEST(Conv2d, Operands_HaveTheirTypesAndShapes) {
  const Conv2dAttributes plain;
  ExpectOutcomes(
      OperatorKind::kConv2d,
      {{"float32[1,1,5,5] float32[2,1,3,3] float32[2]", plain, "float32[1,2,3,3]"},
       {"float32[1,1,5,5] float32[2,1,3,3] float32[3]", plain,
        "the shape of bias ([3]) is not the expected one ([2])"},
       {"float32[1,1,5,5] float32[2,1,3,3] float32[1,2]", plain,
        "the rank of bias (2) is not its allowed rank (1)"},
       {"float32[1,1,5,5] float32[2,1,3,3] float16[2]", plain,
        "the data type of bias (float16) is not that of input (float32)"},
       {"float32[1,1,5,5] float16[2,1,3,3]", plain,
        "the data type of filter (float16) is not that of input (float32)"},
       {"float32[1,5,5] float32[2,1,3,3]", plain,
        "the rank of input (3) is not its allowed rank (4)"},
       {"float32[1,1,5,5] float32[2,1,3]", plain,
        "the rank of filter (3) is not its allowed rank (4)"},
       {"int8[1,1,5,5] int8[2,1,3,3]", plain,
        "the data type of input (int8) is not one of its allowed data types (float32, float16)"}});
}

TEST(Conv2d, OperandsOfAnotherType_AreRefused) {
  ExpectSameTypes(OperatorKind::kConv2d, "float32[1,1,5,5] float32[2,1,3,3] float32[2]",
                  Conv2dAttributes{});
  ExpectSameTypes(OperatorKind::kConvTranspose2d, "float32[1,1,5,5] float32[1,2,3,3] float32[2]",
                  ConvTranspose2dAttributes{});
}

TEST(Conv2d, Lists_HaveTheirSizes) {
  const char* operands = "float32[1,1,5,5] float32[1,1,3,3]";
  ExpectOutcomes(
      OperatorKind::kConv2d,
      {{operands, Conv2dAttributes{.padding = {{1, 1}}},
        "the size of padding (2) is not the expected one (4)"},
       {operands, Conv2dAttributes{.padding = std::vector<uint32_t>{}},
        "the size of padding (0) is not the expected one (4)"},
       {operands, Conv2dAttributes{.strides = {{1, 1, 1}}},
        "the size of strides (3) is not the expected one (2)"},
       {operands, Conv2dAttributes{.strides = {{1, 0}}}, "strides[1] (0) is not greater than zero"},
       {operands, Conv2dAttributes{.dilations = std::vector<uint32_t>{1}},
        "the size of dilations (1) is not the expected one (2)"},
       {operands, Conv2dAttributes{.dilations = {{0, 1}}},
        "dilations[0] (0) is not greater than zero"}});
}

TEST(ConvTranspose2d, Windows_GiveTheOutputSize) {
  using A = ConvTranspose2dAttributes;
  ExpectOutcomes(
      OperatorKind::kConvTranspose2d,
      {{"float32[1,1,3,3] float32[1,1,3,3]", A{}, "float32[1,1,5,5]"},
       {"float16[1,1,3,4] float16[1,2,3,3]", A{.strides = {{3, 2}}}, "float16[1,2,9,9]"},
       {"float32[1,1,3,3] float32[1,1,3,3]", A{.dilations = {{2, 1}}}, "float32[1,1,7,5]"},
       {"float32[1,1,3,3] float32[1,1,3,3]", A{.padding = {{1, 1, 0, 2}}}, "float32[1,1,3,3]"},
       {"float32[1,1,3,3] float32[1,2,3,3]", A{.strides = {{3, 2}}, .output_padding = {{1, 1}}},
        "float32[1,2,10,8]"},
       {"float32[1,1,3,3] float32[1,2,3,3]", A{.strides = {{3, 2}}, .output_sizes = {{9, 7}}},
        "float32[1,2,9,7]"},
       {"float32[1,1,3,3] float32[1,2,3,3]", A{.strides = {{3, 2}}, .output_sizes = {{11, 8}}},
        "float32[1,2,11,8]"},
       {"float32[2,4,3,3] float32[4,2,3,3]", A{.groups = 2}, "float32[2,4,5,5]"}});
}

TEST(ConvTranspose2d, SizesOutOfRange_AreRefused) {
  using A = ConvTranspose2dAttributes;
  const char* operands = "float32[1,1,3,3] float32[1,1,3,3]";
  ExpectOutcomes(
      OperatorKind::kConvTranspose2d,
      {{operands, A{.padding = {{2, 3, 0, 0}}},
        "the height of the output (0) is not a valid dimension (1 to 2147483647)"},
       {operands, A{.padding = {{0, 0, kMaxUint32, kMaxUint32}}},
        "the width of the output (-8589934585) is not a valid dimension (1 to 2147483647)"},
       {operands, A{.strides = {{kMaxUint32, 1}}},
        "the height of the output (8589934593) is not a valid dimension (1 to 2147483647)"},
       // Each of the two terms is nearly 2^56.
       {"float32[1,1,1,16777216] float32[1,1,1,16777216]",
        A{.strides = {{1, kMaxUint32}}, .dilations = {{1, kMaxUint32}}},
        "the width of the output (144115179452366851) is not a valid dimension (1 to 2147483647)"},
       {operands, A{.strides = {{2, 2}}, .output_padding = {{2, 0}}},
        "outputPadding[0] (2) is not less than strides[0] (2)"},
       {operands, A{.output_padding = {{0, 1}}},
        "outputPadding[1] (1) is not less than strides[1] (1)"},
       {operands, A{.strides = {{2, 2}}, .output_sizes = {{6, 7}}},
        "outputSizes[0] (6) is not between the calculated size (7) and that plus strides[0] (2)"},
       {operands, A{.strides = {{2, 2}}, .output_sizes = {{8, 9}}},
        "outputSizes[1] (9) is not between the calculated size (7) and that plus strides[1] (2)"},
       {operands, A{.padding = {{3, 4, 3, 3}}, .strides = {{2, 2}}, .output_sizes = {{0, 1}}},
        "the height of the output (0) is not a valid dimension (1 to 2147483647)"}});
}

TEST(ConvTranspose2d, Layouts_PlaceTheDimensions) {
  const auto layouts = [](InputOperandLayout input, ConvTranspose2dFilterOperandLayout filter) {
    return ConvTranspose2dAttributes{.input_layout = input, .filter_layout = filter};
  };
  using enum ConvTranspose2dFilterOperandLayout;
  // 3 channels to 4, a window of 2 x 5 over 6 x 7.
  ExpectOutcomes(OperatorKind::kConvTranspose2d,
                 {{"float32[1,3,6,7] float32[3,4,2,5]", layouts(InputOperandLayout::kNchw, kIohw),
                   "float32[1,4,7,11]"},
                  {"float32[1,3,6,7] float32[2,5,4,3]", layouts(InputOperandLayout::kNchw, kHwoi),
                   "float32[1,4,7,11]"},
                  {"float32[1,6,7,3] float32[4,2,5,3]", layouts(InputOperandLayout::kNhwc, kOhwi),
                   "float32[1,7,11,4]"},
                  {"float32[1,3,6,7] float32[4,3,2,5]", layouts(InputOperandLayout::kNchw, kIohw),
                   "the input channels of filter (4) are not those of input (3)"}});
}

TEST(ConvTranspose2d, Arguments_HaveTheirTypesAndSizes) {
  using A = ConvTranspose2dAttributes;
  const char* operands = "float32[1,1,3,3] float32[1,1,3,3]";
  ExpectOutcomes(
      OperatorKind::kConvTranspose2d,
      {{"float32[1,4,3,3] float32[4,3,3,3] float32[6]", A{.groups = 2}, "float32[1,6,5,5]"},
       {"float32[1,4,3,3] float32[4,3,3,3] float32[3]", A{.groups = 2},
        "the shape of bias ([3]) is not the expected one ([6])"},
       {"float32[1,1,3,3] float32[1,1,3,3] float16[1]", A{},
        "the data type of bias (float16) is not that of input (float32)"},
       {"float32[1,1,3,3] float16[1,1,3,3]", A{},
        "the data type of filter (float16) is not that of input (float32)"},
       {"float32[1,3,3] float32[1,1,3,3]", A{},
        "the rank of input (3) is not its allowed rank (4)"},
       {operands, A{.groups = 0}, "groups (0) is not greater than zero"},
       {"float32[1,4,3,3] float32[4,1,3,3]", A{.groups = 3},
        "groups (3) does not divide the channels of input (4)"},
       {"float32[1,4096,1,1] float32[4096,8192,1,1]", A{.groups = 2}, "float32[1,16384,1,1]"},
       {"float32[1,2097152,1,1] float32[2097152,1,1,1]", A{.groups = 2097152},
        "float32[1,2097152,1,1]"},
       {"float32[1,4096,1,1] float32[4096,8192,1,1]", A{.groups = 2147483648u},
        "groups (2147483648) does not divide the channels of input (4096)"},
       {operands, A{.padding = {{1}}}, "the size of padding (1) is not the expected one (4)"},
       {operands, A{.strides = {{1, 1, 1}}}, "the size of strides (3) is not the expected one (2)"},
       {operands, A{.dilations = std::vector<uint32_t>{}},
        "the size of dilations (0) is not the expected one (2)"},
       {operands, A{.strides = {{0, 1}}}, "strides[0] (0) is not greater than zero"},
       {operands, A{.dilations = {{1, 0}}}, "dilations[1] (0) is not greater than zero"},
       {operands, A{.output_padding = {{0, 0, 0}}},
        "the size of outputPadding (3) is not the expected one (2)"},
       {operands, A{.output_sizes = std::vector<uint32_t>{5}},
        "the size of outputSizes (1) is not the expected one (2)"},
       // Ignored beside outputSizes, but for its size.
       {operands, A{.output_padding = {{9, 9}}, .output_sizes = {{5, 5}}}, "float32[1,1,5,5]"}});
}

}  // namespace
}  // namespace webnnd::webidl
