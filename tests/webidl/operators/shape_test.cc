#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/limits.h"
#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

constexpr uint32_t kMaxUint32 = 4294967295u;

TEST(Concat, MatchingShapes_AddUpAlongTheAxis) {
  ExpectOutcomes(
      OperatorKind::kConcat,
      {{"float32[2,3]", ConcatAttributes{.axis = 0}, "float32[2,3]"},
       {"float32[2,3] float32[5,3]", ConcatAttributes{.axis = 0}, "float32[7,3]"},
       {"float32[2,3] float32[2,1] float32[2,4]", ConcatAttributes{.axis = 1}, "float32[2,8]"},
       {"uint4[3] uint4[4]", ConcatAttributes{}, "uint4[7]"},
       {"", ConcatAttributes{},
        "the number of tensors in inputs (0) is not in the range 1 to 1024"},
       {"float32[2,3]", ConcatAttributes{.axis = 2},
        "the axis (2) is not less than the rank of inputs (2)"},
       {"float32[]", ConcatAttributes{},
        "the rank of inputs[0] (0) is not in its allowed range (1 to 8)"},
       {"float32[2] -", ConcatAttributes{}, "the required operand (inputs[1]) is absent"},
       {"float32[2] float16[2]", ConcatAttributes{},
        "the data type of inputs[1] (float16) is not that of inputs[0] (float32)"},
       {"float32[2] float32[2,1]", ConcatAttributes{},
        "the rank of inputs[1] (2) is not that of inputs[0] (1)"},
       {"float32[2,3] float32[2,3] float32[3,4]", ConcatAttributes{.axis = 1},
        "the shape of inputs[2] ([3,4]) differs from that of inputs[0] ([2,3]) beside the axis "
        "(1)"}});
}

TEST(Concat, SumBeyondTheMaximum_IsRefused) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += "uint8[134217728] ";
  EXPECT_EQ(
      Infer(OperatorKind::kConcat, many),
      "concat: the sum of the sizes along the axis (2281701376) is not a valid dimension (1 to "
      "2147483647)");
  const std::string size = std::to_string(limits::kTensorBytesMax);
  const std::string sum = std::to_string(limits::kTensorBytesMax + 1);
  ExpectOutcomes(OperatorKind::kConcat,
                 {{"uint8[" + size + "] uint8[1]",
                   "the byte length of uint8[" + sum + "] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Concat, ManyOperands_AreBounded) {
  std::string many;
  for (uint32_t i = 0; i < limits::kOperandsPerOperatorMax; ++i) many += "int8[1] ";
  EXPECT_EQ(Infer(OperatorKind::kConcat, many), "int8[1024]");
  EXPECT_EQ(Infer(OperatorKind::kConcat, many + "int8[1]"),
            "concat: the number of tensors in inputs (1025) is not in the range 1 to 1024");
}

TEST(Expand, BroadcastableShape_IsTaken) {
  ExpectOutcomes(
      OperatorKind::kExpand,
      {{"float32[]", ExpandAttributes{{}}, "float32[]"},
       {"float32[]", ExpandAttributes{{2, 3}}, "float32[2,3]"},
       {"int8[3,1]", ExpandAttributes{{2, 3, 4}}, "int8[2,3,4]"},
       {"float32[3]", ExpandAttributes{{2, 3}}, "float32[2,3]"},
       {"float32[3]", ExpandAttributes{{3, 2}},
        "the shape of input ([3]) is not broadcastable to newShape ([3,2])"},
       {"float32[2,3]", ExpandAttributes{{3}},
        "the shape of input ([2,3]) is not broadcastable to newShape ([3])"},
       {"float32[2]", ExpandAttributes{{1}},
        "the shape of input ([2]) is not broadcastable to newShape ([1])"},
       {"float32[1]", ExpandAttributes{{0}}, "dimension 0 of the shape ([0]) is zero"},
       {"float32[1]", ExpandAttributes{{kMaxUint32}},
        "dimension 0 of the shape ([4294967295]) exceeds the maximum (2147483647)"},
       {"float32[]", ExpandAttributes{{65536, 65536}},
        "the byte length of float32[65536,65536] exceeds the maximum ($BYTES_MAX)"},
       {"float32[]", ExpandAttributes{std::vector<uint32_t>(8, 1)}, "float32[1,1,1,1,1,1,1,1]"},
       {"float32[]", ExpandAttributes{std::vector<uint32_t>(1000, 1)},
        "the size of newShape (1000) exceeds the maximum (8)"}});
}

TEST(Reshape, SameElementCount_IsTaken) {
  ExpectOutcomes(
      OperatorKind::kReshape,
      {{"float32[2,3]", ReshapeAttributes{{6}}, "float32[6]"},
       {"float32[1,1]", ReshapeAttributes{{}}, "float32[]"},
       {"float32[]", ReshapeAttributes{{1, 1}}, "float32[1,1]"},
       {"uint4[2,3]", ReshapeAttributes{{3, 2}}, "uint4[3,2]"},
       {"float32[8]", ReshapeAttributes{{1, 2, 1, 2, 1, 2, 1, 1}}, "float32[1,2,1,2,1,2,1,1]"},
       {"float32[2,3]", ReshapeAttributes{{2, 4}},
        "the element count of newShape (8) is not that of input (6)"},
       {"float32[2]", ReshapeAttributes{{}},
        "the element count of newShape (1) is not that of input (2)"},
       {"float32[2,3]", ReshapeAttributes{{6, 0}}, "dimension 1 of the shape ([6,0]) is zero"},
       {"float32[1]", ReshapeAttributes{std::vector<uint32_t>(9, 1)},
        "the rank (9) of the shape exceeds the maximum (8)"},
       // Nearly 2^93 elements: more than 64 bits count.
       {"float32[1]", ReshapeAttributes{{2147483647, 2147483647, 2147483647}},
        "the byte length of float32[2147483647,2147483647,2147483647] exceeds the maximum "
        "($BYTES_MAX)"},
       // 2^32 elements, 0 modulo 2^32.
       {"uint8[1]", ReshapeAttributes{{65536, 65536}},
        "the byte length of uint8[65536,65536] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Slice, RangesWithinTheInput_AreTaken) {
  const auto slice = [](std::vector<uint32_t> starts, std::vector<uint32_t> sizes) {
    return SliceAttributes{.starts = std::move(starts), .sizes = std::move(sizes)};
  };
  const auto strided = [](uint32_t start, uint32_t size, uint32_t stride) {
    return SliceAttributes{.starts = {start}, .sizes = {size}, .strides = {{stride}}};
  };
  ExpectOutcomes(
      OperatorKind::kSlice,
      {{"float32[4,5]", slice({0, 0}, {4, 5}), "float32[4,5]"},
       {"float32[4,5]", slice({3, 1}, {1, 2}), "float32[1,2]"},
       {"int4[7]", slice({1}, {5}), "int4[5]"},
       {"float32[]", slice({}, {}), "float32[]"},
       {"float32[10]", strided(0, 10, 1), "float32[10]"},
       {"float32[10]", strided(0, 10, 3), "float32[4]"},
       {"float32[10]", strided(1, 9, 3), "float32[3]"},
       {"float32[10]", strided(2, 5, kMaxUint32), "float32[1]"},
       {"float32[4,5]", slice({0}, {4, 5}), "the size of starts (1) is not the expected one (2)"},
       {"float32[4,5]", slice({0, 0}, {4, 5, 6}),
        "the size of sizes (3) is not the expected one (2)"},
       {"float32[4]", SliceAttributes{{0}, {4}, std::vector<uint32_t>{}},
        "the size of strides (0) is not the expected one (1)"},
       {"float32[4,5]", slice({0, 0}, {4, 0}), "sizes[1] (0) is not greater than zero"},
       {"float32[4]", strided(0, 4, 0), "strides[0] (0) is not greater than zero"},
       {"float32[4]", slice({0}, {5}),
        "starts[0] + sizes[0] (5) exceeds the size of input along that axis (4)"},
       {"float32[4]", slice({4}, {1}),
        "starts[0] + sizes[0] (5) exceeds the size of input along that axis (4)"},
       // 1 modulo 2^32.
       {"float32[4]", slice({kMaxUint32}, {2}),
        "starts[0] + sizes[0] (4294967297) exceeds the size of input along that axis (4)"},
       {"float32[4]", slice({2}, {kMaxUint32}),
        "starts[0] + sizes[0] (4294967297) exceeds the size of input along that axis (4)"}});
}

TEST(Split, CountThatDivides_GivesEqualParts) {
  const auto split = [](uint32_t count, uint32_t axis = 0) {
    return SplitAttributes{.splits = count, .axis = axis};
  };
  ExpectOutcomes(
      OperatorKind::kSplit,
      {{"float32[6]", split(3), "float32[2] float32[2] float32[2]"},
       {"float32[2,6]", split(2, 1), "float32[2,3] float32[2,3]"},
       {"float32[6]", split(1), "float32[6]"},
       {"float32[6]", split(4), "splits (4) does not divide the size of input along the axis (6)"},
       {"float32[6]", split(12),
        "splits (12) does not divide the size of input along the axis (6)"},
       {"float32[6]", split(0),
        "the number of tensors in splits (0) is not in the range 1 to 1024"},
       {"float32[6]", split(kMaxUint32),
        "the number of tensors in splits (4294967295) is not in the range 1 to 1024"},
       {"float32[2050]", split(1025),
        "the number of tensors in splits (1025) is not in the range 1 to 1024"},
       {"float32[6]", split(2, 1), "the axis (1) is not less than the rank of input (1)"},
       {"float32[]", split(1), "the rank of input (0) is not in its allowed range (1 to 8)"},
       {"int4[6]", split(2),
        "the data type of input (int4) is not one of its allowed data types (float32, float16, "
        "int32, uint32, int64, uint64, int8, uint8)"}});
}

TEST(Split, SizesThatAddUp_GiveTheirParts) {
  const auto split = [](std::vector<uint32_t> sizes, uint32_t axis = 0) {
    return SplitAttributes{.splits = std::move(sizes), .axis = axis};
  };
  ExpectOutcomes(OperatorKind::kSplit,
                 {{"float32[6]", split({1, 2, 3}), "float32[1] float32[2] float32[3]"},
                  {"float32[6,2]", split({6}), "float32[6,2]"},
                  {"float32[2,6]", split({5, 1}, 1), "float32[2,5] float32[2,1]"},
                  {"float32[6]", split({}),
                   "the number of tensors in splits (0) is not in the range 1 to 1024"},
                  {"float32[6]", split({6, 0}), "splits[1] (0) is not greater than zero"},
                  {"float32[6]", split({1, 2}),
                   "the sum of splits (3) is not the size of input along the axis (6)"},
                  // 6 modulo 2^32.
                  {"float32[6]", split({kMaxUint32, 7}),
                   "the sum of splits (4294967302) is not the size of input along the axis (6)"},
                  {"float32[6]", split(std::vector<uint32_t>(1025, 1)),
                   "the number of tensors in splits (1025) is not in the range 1 to 1024"}});
}

TEST(Transpose, Permutation_ReordersTheAxes) {
  const auto transpose = [](std::vector<uint32_t> permutation) {
    return TransposeAttributes{.permutation = std::move(permutation)};
  };
  ExpectOutcomes(
      OperatorKind::kTranspose,
      {{"float32[2,3,4]", TransposeAttributes{}, "float32[4,3,2]"},
       {"float32[]", TransposeAttributes{}, "float32[]"},
       {"float32[]", transpose({}), "float32[]"},
       {"uint4[2,3,4]", transpose({1, 2, 0}), "uint4[3,4,2]"},
       {"float32[2,3]", transpose({0, 1}), "float32[2,3]"},
       {"float32[2,3]", transpose({0}), "the size of permutation (1) is not the expected one (2)"},
       {"float32[2,3]", transpose({}), "the size of permutation (0) is not the expected one (2)"},
       {"float32[2,3]", transpose({0, 1, 2}),
        "the size of permutation (3) is not the expected one (2)"},
       {"float32[2,3]", transpose({0, 2}),
        "permutation[1] (2) is not less than the rank of input (2)"},
       {"float32[2,3]", transpose({kMaxUint32, 0}),
        "permutation[0] (4294967295) is not less than the rank of input (2)"},
       {"float32[2,3]", transpose({1, 1}), "permutation[1] (1) is a duplicate"}});
}

TEST(Pad, PaddedDimensions_AreSums) {
  const auto pad = [](std::vector<uint32_t> beginning, std::vector<uint32_t> ending,
                      PaddingMode mode = PaddingMode::kConstant) {
    return PadAttributes{.beginning_padding = std::move(beginning),
                         .ending_padding = std::move(ending),
                         .mode = mode};
  };
  ExpectOutcomes(
      OperatorKind::kPad,
      {{"float32[2,3]", pad({1, 2}, {3, 4}), "float32[6,9]"},
       {"int8[2,3]", pad({0, 0}, {0, 0}), "int8[2,3]"},
       {"float32[]", pad({}, {}), "float32[]"},
       {"float32[2,3]", pad({9, 9}, {9, 9}, PaddingMode::kEdge), "float32[20,21]"},
       {"float32[2,3]", pad({1, 2}, {1, 2}, PaddingMode::kReflection), "float32[4,7]"},
       {"float32[2,3]", pad({2, 0}, {0, 0}, PaddingMode::kReflection),
        "beginningPadding[0] (2) is not less than the dimension it reflects (2)"},
       {"float32[2,3]", pad({0, 0}, {0, 3}, PaddingMode::kReflection),
        "endingPadding[1] (3) is not less than the dimension it reflects (3)"},
       // The extension: a mirror that repeats the edge reaches one further, and no more.
       {"float32[2,3]", pad({2, 0}, {1, 3}, PaddingMode::kSymmetric), "float32[5,6]"},
       {"float32[2,3]", pad({3, 0}, {0, 0}, PaddingMode::kSymmetric),
        "beginningPadding[0] (3) is greater than the dimension it mirrors (2)"},
       {"float32[2,3]", pad({0, 0}, {0, 4}, PaddingMode::kSymmetric),
        "endingPadding[1] (4) is greater than the dimension it mirrors (3)"},
       {"float32[2,3]", pad({1}, {1, 1}),
        "the size of beginningPadding (1) is not the expected one (2)"},
       {"float32[2,3]", pad({1, 1}, {1, 1, 1}),
        "the size of endingPadding (3) is not the expected one (2)"},
       // 1 modulo 2^32.
       {"float32[2]", pad({kMaxUint32}, {0}),
        "padded dimension 0 (4294967297) is not a valid dimension (1 to 2147483647)"},
       {"float32[2]", pad({kMaxUint32}, {kMaxUint32}),
        "padded dimension 0 (8589934592) is not a valid dimension (1 to 2147483647)"},
       {"uint8[1,1]", pad({65535, 65535}, {0, 0}),
        "the byte length of uint8[65536,65536] exceeds the maximum ($BYTES_MAX)"},
       {"uint4[2]", pad({1}, {1}),
        "the data type of input (uint4) is not one of its allowed data types (float32, float16, "
        "int32, uint32, int64, uint64, int8, uint8)"}});
}

TEST(Resample2d, SizesOrScales_ReplaceTheAxes) {
  using A = Resample2dAttributes;
  ExpectOutcomes(
      OperatorKind::kResample2d,
      {{"float32[1,2,3,4]", A{}, "float32[1,2,3,4]"},
       {"float16[1,2,3,4]", A{.scales = {{2.0f, 1.5f}}}, "float16[1,2,6,6]"},
       {"uint8[1,2,3,4]", A{.scales = {{0.34f, 0.99f}}}, "uint8[1,2,1,3]"},
       {"int8[1,2,3,4]", A{.sizes = {{7, 8}}}, "int8[1,2,7,8]"},
       {"float32[1,2,3,4]", A{.sizes = {{7, 8}}, .axes = {{1, 2}}}, "float32[1,7,8,4]"},
       {"float32[1,2,3,4]", A{.scales = {{2.0f, 3.0f}}, .axes = {{2, 0}}}, "float32[3,2,6,4]"},
       {"float32[1,2,3,4]", A{.scales = {{1e30f, 1e30f}}, .sizes = {{7, 8}}}, "float32[1,2,7,8]"},
       {"float32[1,2,3]", A{}, "the rank of input (3) is not its allowed rank (4)"},
       {"int32[1,2,3,4]", A{},
        "the data type of input (int32) is not one of its allowed data types (float32, float16, "
        "int8, uint8)"}});
}

TEST(Resample2d, InvalidAttributes_AreRefused) {
  using A = Resample2dAttributes;
  const char* input = "float32[1,2,3,4]";
  ExpectOutcomes(
      OperatorKind::kResample2d,
      {{input, A{.scales = {{1.0f}}}, "the size of scales (1) is not the expected one (2)"},
       {input, A{.scales = {{1.0f, 0.0f}}}, "scales[1] (0) is not greater than zero"},
       {input, A{.scales = {{-2.0f, 1.0f}}}, "scales[0] (-2) is not greater than zero"},
       {input, A{.scales = {{-2.0f, 1.0f}}, .sizes = {{7, 8}}},
        "scales[0] (-2) is not greater than zero"},
       {input, A{.scales = {{NAN, 1.0f}}}, "scales[0] (nan) is not greater than zero"},
       {input, A{.scales = {{0.25f, 1.0f}}},
        "dimension 2 of input (3) times its scale (0.25) is not a valid dimension (1 to "
        "2147483647)"},
       {input, A{.scales = {{1e30f, 1.0f}}},
        "dimension 2 of input (3) times its scale (1e+30) is not a valid dimension (1 to "
        "2147483647)"},
       {input, A{.scales = {{INFINITY, 1.0f}}},
        "dimension 2 of input (3) times its scale (inf) is not a valid dimension (1 to "
        "2147483647)"},
       {input, A{.sizes = {{7, 8, 9}}}, "the size of sizes (3) is not the expected one (2)"},
       {input, A{.sizes = {{7, 0}}}, "sizes[1] (0) is not greater than zero"},
       {input, A{.sizes = {{kMaxUint32, 1}}},
        "dimension 2 of the shape ([1,2,4294967295,1]) exceeds the maximum (2147483647)"},
       {input, A{.axes = {{2}}}, "the size of axes (1) is not the expected one (2)"},
       {input, A{.axes = {{1, 2, 3}}}, "the size of axes (3) is not the expected one (2)"},
       {input, A{.axes = {{2, 4}}}, "axes[1] (4) is not less than the rank of input (4)"},
       {input, A{.axes = {{2, 2}}}, "axes[1] (2) is a duplicate"}});
}

TEST(Reverse, ValidAxes_KeepTypeAndShape) {
  const auto axes = [](std::vector<uint32_t> axes) { return ReverseAttributes{std::move(axes)}; };
  ExpectOutcomes(OperatorKind::kReverse,
                 {{"float32[2,3]", ReverseAttributes{}, "float32[2,3]"},
                  {"int64[]", ReverseAttributes{}, "int64[]"},
                  {"float32[2,3]", axes({}), "float32[2,3]"},
                  {"float32[2,3]", axes({1, 0}), "float32[2,3]"},
                  {"float32[2,3]", axes({2}), "axes[0] (2) is not less than the rank of input (2)"},
                  {"float32[2,3]", axes({0, 0}), "axes[1] (0) is a duplicate"},
                  {"float32[]", axes({0}), "axes[0] (0) is not less than the rank of input (0)"}});
}

TEST(Tile, Repetitions_MultiplyTheDimensions) {
  const auto tile = [](std::vector<uint32_t> repetitions) {
    return TileAttributes{std::move(repetitions)};
  };
  ExpectOutcomes(
      OperatorKind::kTile,
      {{"float32[2,3]", tile({1, 4}), "float32[2,12]"},
       {"int8[]", tile({}), "int8[]"},
       {"float32[2,3]", tile({2}), "the size of repetitions (1) is not the expected one (2)"},
       {"float32[2,3]", tile({2, 0}), "repetitions[1] (0) is not greater than zero"},
       // 0 modulo 2^32.
       {"float32[65536]", tile({65536}),
        "tiled dimension 0 (4294967296) is not a valid dimension (1 to 2147483647)"},
       {"uint8[134217728]", tile({kMaxUint32}),
        "tiled dimension 0 (576460752169205760) is not a valid dimension (1 to 2147483647)"},
       {"float32[1,1]", tile({65536, 65536}),
        "the byte length of float32[65536,65536] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Triangular, MatricesOfAnyDiagonal_KeepTypeAndShape) {
  ExpectOutcomes(OperatorKind::kTriangular,
                 {{"float32[2,3]", TriangularAttributes{}, "float32[2,3]"},
                  {"uint8[4,2,3]", TriangularAttributes{.upper = false, .diagonal = -2147483647},
                   "uint8[4,2,3]"},
                  {"float32[3]", TriangularAttributes{},
                   "the rank of input (1) is not in its allowed range (2 to 8)"}});
}

}  // namespace
}  // namespace webnnd::webidl
