// The host side of what rearranges elements: which kernel takes a region, and in which dimensions.
#include "service/passes/region_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "service/passes/kernel_parameters.h"
#include "service/passes/lowering.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::Shape;

TEST(MakeDivisor, DividendsBelow2To31_DivideExactly) {
  auto divide = [](uint32_t n, const std::array<uint32_t, 3>& d) {
    auto high = static_cast<uint32_t>(uint64_t{n} * d[1] >> 32);
    return (high + n) >> d[2];
  };
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    uint32_t divisor = (random() & 0x7fffffff) >> (random() % 31);
    if (divisor == 0) divisor = 1;
    auto made = MakeDivisor(divisor);
    uint32_t dividend = random() & 0x7fffffff;
    uint32_t multiple = dividend / divisor * divisor;
    for (uint32_t n : {dividend, multiple, multiple - (multiple != 0 ? 1u : 0u), 0x7fffffffu}) {
      ASSERT_EQ(divide(n, made), n / divisor) << n << " / " << divisor;
    }
  }
}

TEST(Coalesce, EvenNeighbours_BecomeOneLoop) {
  auto dimensions = [](std::vector<std::vector<uint32_t>> strides, Shape shape) {
    return Coalesce(MakeDimensions(shape, strides));
  };
  // Same shape; a scalar operand; a row along the last axis; a column; all
  // ones.
  EXPECT_EQ(dimensions({{12, 4, 1}, {12, 4, 1}}, {2, 3, 4}).size(), 1u);
  EXPECT_EQ(dimensions({{12, 4, 1}, {0, 0, 0}}, {2, 3, 4}).size(), 1u);
  EXPECT_EQ(dimensions({{12, 4, 1}, {0, 0, 1}}, {2, 3, 4}).size(), 2u);
  EXPECT_EQ(dimensions({{12, 4, 1}, {3, 1, 0}}, {2, 3, 4}).size(), 2u);
  EXPECT_EQ(dimensions({{1, 1, 1}}, {1, 1, 1}).size(), 1u);
  EXPECT_EQ(dimensions({{}}, {}).size(), 1u);
}

TEST(Coalesce, UnevenNeighbours_StayApart) {
  std::vector<StridedDimension> transposed = {{.size = 3, .strides = {1}},
                                              {.size = 2, .strides = {3}}};
  EXPECT_EQ(Coalesce(transposed), transposed);
}

TEST(BroadcastStrides, RepeatedDimensions_HaveStride0) {
  EXPECT_EQ(BroadcastStrides(Shape{3, 1}, Shape{2, 3, 4}), (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(BroadcastStrides(Shape{}, Shape{2}), (std::vector<uint32_t>{0}));
}

// Lowers one region copy between tensors of the given counts.
LoweringBuilder LowerCopy(Graph& graph, OperandDataType type, uint32_t source, uint32_t result,
                          RegionCopy copy) {
  for (uint32_t count : {source, result}) {
    Shape shape = {count};
    auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
    graph.values.push_back({Value::Kind::kResult, *descriptor, 0});
  }
  copy.source = 0;
  copy.result = 1;
  LoweringBuilder builder(graph);
  AddRegionCopy(std::move(copy), builder);
  return builder;
}

TEST(RegionCopy, NothingMoves_IsAnAlias) {
  Graph graph;
  LoweringBuilder builder = LowerCopy(
      graph, OperandDataType::kInt8, 12, 12,
      {.dimensions = {
           {.size = 3, .strides = {4}}, {.size = 1, .strides = {7}}, {.size = 4, .strides = {1}}}});
  EXPECT_TRUE(builder.calls().empty());
  EXPECT_EQ(builder.aliases().size(), 1u);
}

// Two rows of four bytes, from every third word on.
RegionCopy RowsOfBytes(uint32_t source_offset, uint32_t result_offset) {
  return {.dimensions = {{.size = 2, .strides = {12}}, {.size = 4, .strides = {1}}},
          .source_offset = source_offset,
          .result_offset = result_offset};
}

TEST(RegionCopy, AlignedBytes_MoveAsWords) {
  Graph graph;
  LoweringBuilder builder =
      LowerCopy(graph, OperandDataType::kInt8, 24, 24, RowsOfBytes(4, /*result_offset=*/4));
  ASSERT_EQ(builder.calls().size(), 1u);
  EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kCopyElements);
  EXPECT_EQ(builder.calls()[0].invocations, 2u);
}

TEST(RegionCopy, UnalignedBytes_MoveOneByOne) {
  Graph graph;
  LoweringBuilder builder =
      LowerCopy(graph, OperandDataType::kInt8, 24, 24, RowsOfBytes(3, /*result_offset=*/4));
  ASSERT_EQ(builder.calls().size(), 1u);
  EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kCopyElements);
}

TEST(RegionCopy, WholeResults_AreWrittenByQuads) {
  for (uint32_t source_offset : {3u, 4u}) {
    Graph graph;
    LoweringBuilder builder = LowerCopy(graph, OperandDataType::kInt8, 24, 8,
                                        RowsOfBytes(source_offset, /*result_offset=*/0));
    ASSERT_EQ(builder.calls().size(), 1u);
    EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kCopyQuads);
    EXPECT_EQ(builder.calls()[0].invocations, 1u);
  }
}

TEST(RegionCopy, ContiguousInAnotherDimension_MovesByBlocks) {
  for (uint32_t rows : {8u, 6u}) {
    Graph graph;
    LoweringBuilder builder =
        LowerCopy(graph, OperandDataType::kFloat32, 12 * rows, 12 * rows,
                  {.dimensions = {{.size = 12, .strides = {1}}, {.size = rows, .strides = {12}}}});
    ASSERT_EQ(builder.calls().size(), 1u);
    EXPECT_EQ(builder.calls()[0].shader,
              rows == 8 ? shaders::ShaderId::kTranspose : shaders::ShaderId::kCopyQuads);
    EXPECT_EQ(builder.calls()[0].invocations, rows == 8 ? 6u : 18u);
  }
}

TEST(RegionCopy, HalvesOfWords_MoveByBlocksOfEight) {
  for (uint32_t rows : {16u, 12u}) {
    Graph graph;
    LoweringBuilder builder =
        LowerCopy(graph, OperandDataType::kFloat16, 24 * rows, 24 * rows,
                  {.dimensions = {{.size = 24, .strides = {1}}, {.size = rows, .strides = {24}}}});
    ASSERT_EQ(builder.calls().size(), 1u);
    EXPECT_EQ(builder.calls()[0].shader,
              rows == 16 ? shaders::ShaderId::kTranspose : shaders::ShaderId::kTransposeWords);
    EXPECT_EQ(builder.calls()[0].invocations, rows == 16 ? 6u : 0u);
  }
}

// Of shuffles of pixels, of which an element's place takes long to find.
TEST(RegionCopy, SmallDimensionsOfMany_MoveByRows) {
  const auto shader = [](OperandDataType type, uint32_t images, uint32_t columns, uint32_t by,
                         bool wide) {
    Graph graph;
    graph.device.wide = wide;
    const uint32_t count = images * columns * by;
    LoweringBuilder builder = LowerCopy(graph, type, count, count,
                                        {.dimensions = {{.size = images, .strides = {columns * by}},
                                                        {.size = columns, .strides = {1}},
                                                        {.size = by, .strides = {columns}}}});
    EXPECT_EQ(builder.calls().size(), 1u);
    return builder.calls()[0].shader;
  };
  using shaders::ShaderId;
  constexpr auto kFloat = OperandDataType::kFloat32;
  constexpr auto kHalf = OperandDataType::kFloat16;
  constexpr auto kByte = OperandDataType::kInt8;
  EXPECT_EQ(shader(kHalf, 16, 12, 6, false), ShaderId::kCopyRows);
  EXPECT_EQ(shader(kFloat, 16, 12, 6, false), ShaderId::kCopyRows);
  // On GPUs; too few or too short rows; ones that are too long for a loop, or no whole words.
  EXPECT_EQ(shader(kHalf, 16, 12, 6, true), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kHalf, 15, 12, 6, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kHalf, 2, 6, 6, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kHalf, 17, 13, 5, false), ShaderId::kCopyQuads);
  // Where two dimensions are long enough for squares, of words, or of elements of less than one.
  EXPECT_EQ(shader(kFloat, 16, 32, 17, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kFloat, 16, 32, 65, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kFloat, 16, 33, 5, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kHalf, 16, 33, 33, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kHalf, 16, 34, 17, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kHalf, 15, 33, 17, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kHalf, 16, 16, 5, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(kByte, 15, 33, 31, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(OperandDataType::kInt64, 16, 9, 5, false), ShaderId::kTransposeWords);
  EXPECT_EQ(shader(OperandDataType::kInt64, 16, 9, 5, true), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kHalf, 16, 33, 17, true), ShaderId::kCopyQuads);
}

// Longer than a loop goes.
TEST(RegionCopy, LongShuffledRows_MoveByQuads) {
  for (uint32_t columns : {2730u, 2731u}) {
    Graph graph;
    LoweringBuilder builder =
        LowerCopy(graph, OperandDataType::kFloat32, 16 * 20000, 16 * columns * 6,
                  {.dimensions = {{.size = 16, .strides = {20000}},
                                  {.size = columns, .strides = {2}},
                                  {.size = 6, .strides = {2 * columns}}}});
    EXPECT_EQ(builder.calls()[0].shader,
              columns == 2730 ? shaders::ShaderId::kCopyRows : shaders::ShaderId::kCopyQuads);
  }
}

// Squares of words where they suit: they move more at once.
TEST(RegionCopy, NarrowElements_GoByWordsOrOneByOne) {
  const auto by_elements = [](OperandDataType type, uint32_t images, uint32_t columns,
                              uint32_t by) {
    Graph graph;
    const uint32_t count = images * columns * by;
    LoweringBuilder builder = LowerCopy(graph, type, count, count,
                                        {.dimensions = {{.size = images, .strides = {columns * by}},
                                                        {.size = columns, .strides = {1}},
                                                        {.size = by, .strides = {columns}}}});
    EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kTransposeWords);
    return builder.calls()[0].specialization[4] != 0;
  };
  constexpr auto kHalf = OperandDataType::kFloat16;
  constexpr auto kByte = OperandDataType::kInt8;
  EXPECT_FALSE(by_elements(kHalf, 2, 34, 17));
  EXPECT_TRUE(by_elements(kHalf, 2, 33, 17));
  EXPECT_TRUE(by_elements(kHalf, 2, 34, 15));
  EXPECT_TRUE(by_elements(kHalf, 2, 30, 33));
  EXPECT_FALSE(by_elements(kByte, 4, 68, 33));
  EXPECT_TRUE(by_elements(kByte, 4, 68, 31));
  EXPECT_TRUE(by_elements(kByte, 4, 66, 33));
  EXPECT_FALSE(by_elements(OperandDataType::kInt32, 2, 33, 7));
}

TEST(RegionCopy, RowsFromTheirEnds_MoveByVectors) {
  const auto shader = [](OperandDataType type, uint32_t rows, uint32_t length, bool wide) {
    Graph graph;
    graph.device.wide = wide;
    const auto backwards = static_cast<uint32_t>(-1);
    LoweringBuilder builder = LowerCopy(graph, type, rows * length, rows * length,
                                        {.dimensions = {{.size = rows, .strides = {length}},
                                                        {.size = length, .strides = {backwards}}},
                                         .source_offset = length - 1});
    EXPECT_EQ(builder.calls().size(), 1u);
    return builder.calls()[0].shader;
  };
  using shaders::ShaderId;
  for (auto type : {OperandDataType::kFloat32, OperandDataType::kFloat16, OperandDataType::kInt8,
                    OperandDataType::kInt64}) {
    EXPECT_EQ(shader(type, 3, 17, false), ShaderId::kCopyBackwards);
    EXPECT_EQ(shader(type, 3, 17, true), ShaderId::kCopyQuads);
    EXPECT_EQ(shader(type, 3, 7, false), ShaderId::kCopyQuads);
    const bool is_long = type == OperandDataType::kInt64;
    EXPECT_EQ(shader(type, 3, 15, false),
              is_long ? ShaderId::kCopyBackwards : ShaderId::kCopyQuads);
  }
  EXPECT_EQ(shader(OperandDataType::kFloat32, 3, 32, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(OperandDataType::kFloat16, 3, 32, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(OperandDataType::kInt64, 3, 32, false), ShaderId::kCopyBackwards);
}

TEST(RegionCopy, FewStreams_TakeTurns) {
  const auto shader = [](OperandDataType type, std::vector<StridedDimension> dimensions,
                         bool wide = false) {
    Graph graph;
    graph.device.wide = wide;
    uint32_t count = 1;
    for (const StridedDimension& dimension : dimensions) count *= dimension.size;
    LoweringBuilder builder =
        LowerCopy(graph, type, count, count, {.dimensions = std::move(dimensions)});
    EXPECT_EQ(builder.calls().size(), 1u);
    return builder.calls()[0].shader;
  };
  using shaders::ShaderId;
  constexpr auto kFloat = OperandDataType::kFloat32;
  constexpr auto kByte = OperandDataType::kInt8;
  constexpr auto kLong = OperandDataType::kInt64;
  const auto together = [](uint32_t length, uint32_t streams) {
    return std::vector<StridedDimension>{
        {3, {streams * length}}, {length, {1}}, {streams, {length}}};
  };
  const auto apart = [](uint32_t length, uint32_t streams) {
    return std::vector<StridedDimension>{
        {3, {streams * length}}, {streams, {1}}, {length, {streams}}};
  };
  for (uint32_t streams : {2u, 3u, 4u}) {
    for (OperandDataType type : {kFloat, OperandDataType::kFloat16, kByte, kLong}) {
      EXPECT_EQ(shader(type, together(33, streams)), ShaderId::kInterleave);
      EXPECT_EQ(shader(type, apart(33, streams)), ShaderId::kInterleave);
    }
    EXPECT_EQ(shader(kLong, together(8, streams)), ShaderId::kInterleave);
    EXPECT_NE(shader(kLong, together(7, streams)), ShaderId::kInterleave);
    EXPECT_NE(shader(kByte, together(15, streams)), ShaderId::kInterleave);
    EXPECT_NE(shader(kByte, apart(15, streams)), ShaderId::kInterleave);
    EXPECT_NE(shader(kFloat, together(32, streams), /*wide=*/true), ShaderId::kInterleave);
  }
  EXPECT_NE(shader(kFloat, together(33, 5)), ShaderId::kInterleave);
  EXPECT_NE(shader(kFloat, apart(33, 5)), ShaderId::kInterleave);
  EXPECT_NE(shader(OperandDataType::kInt4, together(32, 2)), ShaderId::kInterleave);
  // Not all of what takes turns.
  EXPECT_NE(shader(kFloat, {{3, {99}}, {2, {1}}, {33, {3}}}), ShaderId::kInterleave);
}

// Kernels whose results are in one piece.
TEST(RegionCopy, PartsOfARow_AreNoStreams) {
  const std::vector<StridedDimension> cases[] = {
      {{3, {66}}, {33, {1}}, {2, {33}}},
      {{3, {66}}, {2, {1}}, {33, {2}}},
      {{6, {33}}, {33, {static_cast<uint32_t>(-1)}}},
      {{3, {33 * 35}}, {33, {1}}, {35, {33}}},
  };
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kFloat16}) {
    for (const std::vector<StridedDimension>& dimensions : cases) {
      uint32_t count = 1;
      for (const StridedDimension& dimension : dimensions) count *= dimension.size;
      Graph graph;
      LoweringBuilder builder = LowerCopy(graph, type, count, 2 * count,
                                          {.dimensions = dimensions,
                                           .source_offset = 33,
                                           .run_length = count / 3,
                                           .run_stride = count / 3 + 1});
      ASSERT_EQ(builder.calls().size(), 1u);
      const shaders::ShaderId shader = builder.calls()[0].shader;
      EXPECT_TRUE(shader == shaders::ShaderId::kCopyElements ||
                  shader == shaders::ShaderId::kCopyQuads);
    }
  }
}

// Where the result's elements begin within a quad, or a word.
TEST(RegionCopy, PlacesWithinQuads_GoByVectors) {
  const auto lower = [](OperandDataType type, std::vector<StridedDimension> dimensions) {
    uint32_t count = 1;
    for (const StridedDimension& dimension : dimensions) count *= dimension.size;
    Graph graph;
    return LowerCopy(graph, type, count, count + 1,
                     {.dimensions = std::move(dimensions), .source_offset = 31, .result_offset = 1})
        .calls()[0];
  };
  const auto backwards = static_cast<uint32_t>(-1);
  const LoweredCall rows = lower(OperandDataType::kFloat32, {{3, {32}}, {32, {backwards}}});
  EXPECT_EQ(rows.shader, shaders::ShaderId::kCopyBackwards);
  EXPECT_EQ(rows.parameters[2], 31u);
  EXPECT_EQ(rows.parameters[3], 1u);
  const LoweredCall streams = lower(OperandDataType::kFloat16, {{32, {1}}, {2, {32}}});
  EXPECT_EQ(streams.shader, shaders::ShaderId::kInterleave);
  EXPECT_EQ(streams.parameters[2], 31u);
  EXPECT_EQ(streams.parameters[3], 1u);
  const LoweredCall squares = lower(OperandDataType::kFloat16, {{2, {578}}, {34, {1}}, {17, {34}}});
  EXPECT_EQ(squares.shader, shaders::ShaderId::kTransposeWords);
  EXPECT_EQ(squares.specialization[4], 1u);
}

MATCHER_P3(PartsAre, parts, length, last, "") {
  return arg[0] == static_cast<uint32_t>(parts) && arg[4] == static_cast<uint32_t>(length) &&
         arg[6] == static_cast<uint32_t>(last);
}

TEST(RegionCopy, PartsOfStreams_AreAsLongAsEachOther) {
  const auto parameters = [](OperandDataType type, uint32_t length) {
    Graph graph;
    return LowerCopy(
               graph, type, 2 * length, 2 * length,
               {.dimensions = {{.size = length, .strides = {1}}, {.size = 2, .strides = {length}}}})
        .calls()[0]
        .parameters;
  };
  constexpr auto kFloat = OperandDataType::kFloat32;
  // Parts, elements of each, and where the last one begins.
  EXPECT_THAT(parameters(kFloat, 37), PartsAre(1, 37, 0));
  EXPECT_THAT(parameters(kFloat, 512), PartsAre(1, 512, 0));
  EXPECT_THAT(parameters(kFloat, 513), PartsAre(2, 272, 241));
  EXPECT_THAT(parameters(kFloat, 576), PartsAre(2, 288, 288));
  EXPECT_THAT(parameters(OperandDataType::kInt64, 513), PartsAre(2, 264, 249));
}

// Rows in one piece that quads do not go along, for one or the other's sake.
TEST(RegionCopy, UnalignedRows_MoveByRuns) {
  const auto shader = [](OperandDataType type, uint32_t rows, uint32_t length, uint32_t stride,
                         uint32_t step, bool wide) {
    Graph graph;
    graph.device.wide = wide;
    LoweringBuilder builder = LowerCopy(
        graph, type, rows * stride + length, rows * length,
        {.dimensions = {{.size = rows, .strides = {stride}}, {.size = length, .strides = {step}}}});
    EXPECT_EQ(builder.calls().size(), 1u);
    return builder.calls()[0].shader;
  };
  using shaders::ShaderId;
  constexpr auto kFloat = OperandDataType::kFloat32;
  constexpr auto kByte = OperandDataType::kUint8;
  EXPECT_EQ(shader(kFloat, 16, 33, 40, 1, false), ShaderId::kCopyRuns);
  EXPECT_EQ(shader(kFloat, 16, 32, 33, 1, false), ShaderId::kCopyRuns);
  EXPECT_EQ(shader(kFloat, 16, 33, 1, 0, false), ShaderId::kCopyRuns);
  EXPECT_EQ(shader(kByte, 16, 32, 33, 1, false), ShaderId::kCopyRuns);
  // Aligned; on GPUs; too few or too short; backwards.
  EXPECT_EQ(shader(kFloat, 16, 32, 40, 1, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kFloat, 16, 33, 40, 1, true), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kFloat, 15, 33, 40, 1, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kFloat, 9, 7, 40, 1, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kByte, 16, 31, 33, 1, false), ShaderId::kCopyQuads);
  EXPECT_EQ(shader(kFloat, 16, 33, 40, 0u - 1, false), ShaderId::kCopyBackwards);
  // Longer than a loop goes.
  EXPECT_EQ(shader(kByte, 16, (1 << 20) - 1, 1 << 20, 1, false), ShaderId::kCopyRuns);
  EXPECT_EQ(shader(kByte, 16, (1 << 20) + 1, 1 << 21, 1, false), ShaderId::kCopyQuads);
}

// Regions that begin and end within words, and runs of a part of each row of the result.
TEST(RegionCopy, UnalignedRowsBesideOtherElements_AreRuns) {
  for (uint32_t behind : {0u, 4u}) {
    for (uint32_t before : {0u, 3u}) {
      for (uint32_t run_stride : {0u, 71u}) {
        Graph graph;
        LoweringBuilder builder =
            LowerCopy(graph, OperandDataType::kUint8, 17 * 80, 17 * 71 + before + behind,
                      {.dimensions = {{.size = 17, .strides = {80}}, {.size = 67, .strides = {1}}},
                       .result_offset = before,
                       .run_length = run_stride == 0 ? 0u : 67u,
                       .run_stride = run_stride});
        ASSERT_EQ(builder.calls().size(), 1u);
        EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kCopyRuns);
      }
    }
  }
}

struct ManyInSquares {
  OperandDataType type;
  uint32_t rows, columns;  // Of the source.
  bool streams_words;      // Whether the processor does.
  uint32_t is_streamed;
};

// What caches keep goes through them, and so do words, but where processors gain by it: not if the
// result's rows lie further apart than the source's.
TEST(RegionCopy, ManyInSquares_AreStreamed) {
  constexpr auto kHalf = OperandDataType::kFloat16;
  constexpr auto kWord = OperandDataType::kFloat32;
  for (const ManyInSquares& test :
       {ManyInSquares{kHalf, 1024, 4096, false, 1}, ManyInSquares{kHalf, 992, 4096, false, 0},
        ManyInSquares{kHalf, 4096, 1024, true, 1}, ManyInSquares{kWord, 1024, 4096, false, 0},
        ManyInSquares{kWord, 1024, 2048, true, 1}, ManyInSquares{kWord, 1024, 2032, true, 0},
        ManyInSquares{kWord, 2048, 2048, true, 1}, ManyInSquares{kWord, 2048, 1024, true, 0}}) {
    Graph graph;
    graph.device.streamed_stores.transposed_words = test.streams_words;
    const uint32_t count = test.rows * test.columns;
    LoweringBuilder builder =
        LowerCopy(graph, test.type, count, count,
                  {.dimensions = {{.size = test.columns, .strides = {1}},
                                  {.size = test.rows, .strides = {test.columns}}}});
    ASSERT_EQ(builder.calls().size(), 1u);
    EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kTranspose);
    EXPECT_EQ(builder.calls()[0].specialization.at(3), test.is_streamed)
        << test.rows << " " << test.columns;
  }
}

}  // namespace
}  // namespace webnnd::service
