// Operators that rearrange elements, but for transpose and reverse (lowering_transpose_test.cc),
// against index arithmetic on the host; region_copy_test.cc has the host side of their lowering.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>

#include "service/passes/lowering.h"
#include "tests/service/moves_fixture.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::moves_test {
namespace {

TEST(GetLowering, EveryOperator_HasARow) {
  for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
    EXPECT_NE(GetLowering(static_cast<OperatorKind>(kind)), nullptr)
        << webidl::OperatorName(static_cast<OperatorKind>(kind));
  }
}

TEST(Alias, ReshapeAndIdentity_KeepAllBytes) {
  for (OperandDataType type : kTypes) {
    HostTensor operand = Pattern(type, {3, 5});
    HostTensor reshaped =
        RunOne(OperatorKind::kReshape, {operand}, webidl::ReshapeAttributes{{5, 1, 3}});
    EXPECT_EQ(reshaped.descriptor.shape(), (Shape{5, 1, 3}));
    EXPECT_EQ(reshaped.bytes, operand.bytes);
    if (type == OperandDataType::kInt4) continue;
    EXPECT_EQ(RunOne(OperatorKind::kIdentity, {operand}).bytes, operand.bytes);
  }
}

TEST(Slice, StartsSizesAndStrides_SelectElements) {
  struct Case {
    Shape shape;
    webidl::SliceAttributes slice;
  };
  const Case cases[] = {
      {{10}, {{3}, {4}, std::nullopt}},
      {{6, 8}, {{1, 0}, {2, 8}, std::nullopt}},
      {{6, 8}, {{0, 3}, {6, 5}, std::nullopt}},
      {{6, 9}, {{1, 2}, {5, 6}, {{2, 3}}}},
      {{4, 4, 16}, {{1, 2, 8}, {2, 2, 8}, std::nullopt}},
      {{5}, {{0}, {5}, std::nullopt}},
      {{2, 3, 2, 3, 2, 3, 2, 3},
       {{0, 1, 0, 1, 0, 1, 1, 0}, {2, 2, 1, 2, 2, 1, 1, 3}, {{1, 1, 1, 2, 1, 1, 1, 2}}}},
  };
  for (OperandDataType type : kTypes) {
    for (const Case& test : cases) {
      HostTensor operand = Pattern(type, test.shape);
      HostTensor result = RunOne(OperatorKind::kSlice, {operand}, test.slice);
      ExpectMoved(operand, result, [&](const Shape& to) {
        Shape from(to.size());
        for (size_t d = 0; d < to.size(); ++d) {
          from[d] =
              test.slice.starts[d] + to[d] * (test.slice.strides ? (*test.slice.strides)[d] : 1);
        }
        return from;
      });
    }
  }
}

// Rows that begin and end anywhere within words, of the source and of the result.
TEST(Slice, UnalignedRows_KeepTheirElements) {
  for (OperandDataType type : kByteTypes) {
    for (uint32_t rows : {17u, 18u, 34u}) {
      for (uint32_t length : {8u, 33u, 64u, 65u, 66u, 67u, 167u}) {
        for (uint32_t start : {0u, 1u, 2u, 3u}) {
          if (rows != 17 && start + length % 4 != 4) continue;
          const HostTensor operand = Pattern(type, {rows, length + start + 1});
          const HostTensor result =
              RunOne(OperatorKind::kSlice, {operand},
                     webidl::SliceAttributes{{0, start}, {rows, length}, std::nullopt});
          ExpectMoved(operand, result, [&](const Shape& to) {
            return Shape{to[0], to[1] + start};
          });
        }
      }
    }
  }
}

TEST(Split, EvenAndUneven_GiveAllParts) {
  for (OperandDataType type : kByteTypes) {
    HostTensor operand = Pattern(type, {4, 6, 3});
    for (uint32_t axis = 0; axis < 2; ++axis) {
      std::vector<uint32_t> sizes =
          axis == 0 ? std::vector<uint32_t>{2, 2} : std::vector<uint32_t>{1, 3, 2};
      webidl::SplitAttributes attributes;
      attributes.axis = axis;
      if (axis == 0) {
        attributes.splits = uint32_t{2};
      } else {
        attributes.splits = sizes;
      }
      auto results = RunNode(OperatorKind::kSplit, {operand}, attributes);
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      ASSERT_EQ(results->size(), sizes.size());
      uint32_t start = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        ExpectMoved(operand, (*results)[i], [&](Shape to) {
          to[axis] += start;
          return to;
        });
        start += sizes[i];
      }
    }
  }
}

// More than a kernel call takes, whose rows are quads, words, or neither.
TEST(Split, IntoMany_GivesAllParts) {
  const std::vector<uint32_t> sizes = {1, 2, 1, 3, 1, 1, 4, 2, 1};
  for (OperandDataType type : kByteTypes) {
    for (uint32_t inner : {1u, 2u, 3u, 16u}) {
      HostTensor operand = Pattern(type, {3, 16, inner});
      webidl::SplitAttributes attributes;
      attributes.axis = 1;
      attributes.splits = sizes;
      auto results = RunNode(OperatorKind::kSplit, {operand}, attributes);
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      uint32_t start = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        ExpectMoved(operand, (*results)[i], [&](Shape to) {
          to[1] += start;
          return to;
        });
        start += sizes[i];
      }
    }
  }
}

// Rows that are copied by themselves, those that are not, and both.
TEST(Split, LongRows_AreWhereverTheyBegin) {
  constexpr uint32_t kRows = 520;
  for (OperandDataType type : kByteTypes) {
    for (const std::vector<uint32_t>& sizes :
         {std::vector<uint32_t>{65, 1, 130, 67}, {64, 16, 33}, {5, 3, 201}}) {
      const uint32_t length = std::accumulate(sizes.begin(), sizes.end(), 0u);
      const HostTensor operand = Pattern(type, {kRows, length});
      webidl::SplitAttributes attributes;
      attributes.axis = 1;
      attributes.splits = sizes;
      const auto results = RunNode(OperatorKind::kSplit, {operand}, attributes);
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      uint32_t start = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        ExpectMoved(operand, (*results)[i], [&](const Shape& to) {
          return Shape{to[0], to[1] + start};
        });
        start += sizes[i];
      }
    }
  }
}

TEST(Concat, LongRows_AreWhereverTheyBegin) {
  constexpr uint32_t kRows = 520;
  for (OperandDataType type : kByteTypes) {
    for (const std::vector<uint32_t>& sizes :
         {std::vector<uint32_t>{65, 1, 130, 67}, {64, 16, 33}, {5, 3, 201}}) {
      std::vector<std::optional<HostTensor>> operands;
      for (uint32_t size : sizes) {
        operands.emplace_back(Pattern(type, {kRows, size}, static_cast<int>(size)));
      }
      const HostTensor result =
          RunOne(OperatorKind::kConcat, operands, webidl::ConcatAttributes{1});
      const Values values = result.Values();
      const uint32_t length = result.descriptor.shape()[1];
      uint32_t start = 0;
      for (size_t part = 0; part < sizes.size(); ++part) {
        const Values from = operands[part]->Values();
        for (uint32_t i = 0; i < kRows * sizes[part]; ++i) {
          ASSERT_EQ(values[i / sizes[part] * length + start + i % sizes[part]], from[i])
              << result.descriptor.ToString() << " part " << part << " element " << i;
        }
        start += sizes[part];
      }
    }
  }
}

TEST(Concat, AnyAxis_JoinsOperands) {
  // Runs that begin and end inside words, and several in one word.
  const std::vector<std::vector<uint32_t>> sizes = {
      {2, 3}, {1, 1, 1}, {4, 8}, {7, 1, 2}, {5}, {1, 2, 1, 3, 1, 1, 4, 2, 1}};
  for (OperandDataType type : kTypes) {
    for (const auto& parts : sizes) {
      for (uint32_t axis = 0; axis < 3; ++axis) {
        std::vector<std::optional<HostTensor>> operands;
        for (uint32_t part : parts) {
          Shape shape = {3, 5, 3};
          shape[axis] = part;
          operands.emplace_back(Pattern(type, shape, static_cast<int>(operands.size()) + 1));
        }
        HostTensor result = RunOne(OperatorKind::kConcat, operands, webidl::ConcatAttributes{axis});
        Values values = result.Values();
        const Shape& shape = result.descriptor.shape();
        for (size_t i = 0; i < values.size(); ++i) {
          Shape at = Coordinates(shape, i);
          size_t part = 0;
          while (at[axis] >= parts[part]) at[axis] -= parts[part++];
          const HostTensor& operand = *operands[part];
          ASSERT_EQ(values[i], operand.Values()[IndexOf(operand.descriptor.shape(), at)])
              << operand.descriptor.ToString() << " axis " << axis << " element " << i;
        }
      }
    }
  }
}

TEST(Expand, OnesAndMissingDimensions_Repeat) {
  const std::pair<Shape, Shape> cases[] = {{{}, {3}},
                                           {{1, 5}, {3, 5}},
                                           {{3, 1}, {3, 7}},
                                           {{4}, {2, 3, 4}},
                                           {{2, 1, 3, 1}, {2, 2, 3, 5}},
                                           {{1, 264}, {70, 264}},
                                           {{3, 1, 128}, {3, 24, 128}},
                                           {{1, 33}, {50, 33}},
                                           {{1, 66}, {17, 66}},
                                           {{1, 67}, {19, 67}},
                                           {{50, 1}, {50, 33}},
                                           {{17, 1}, {17, 66}},
                                           {{19, 1}, {19, 267}},
                                           {{3, 1, 35}, {3, 9, 35}},
                                           {{3, 33, 1}, {3, 33, 2}}};  // As streams: one, twice.
  for (OperandDataType type : kByteTypes) {
    for (const auto& [from_shape, to_shape] : cases) {
      HostTensor operand = Pattern(type, from_shape);
      HostTensor result =
          RunOne(OperatorKind::kExpand, {operand}, webidl::ExpandAttributes{to_shape});
      ExpectMoved(operand, result, [&, from_shape = from_shape](const Shape& to) {
        Shape from(from_shape.size());
        for (size_t d = 0; d < from.size(); ++d) {
          from[d] = from_shape[d] == 1 ? 0 : to[to.size() - from.size() + d];
        }
        return from;
      });
    }
  }
}

TEST(Tile, Repetitions_Wrap) {
  for (OperandDataType type : kByteTypes) {
    HostTensor operand = Pattern(type, {2, 3, 5});
    HostTensor result = RunOne(OperatorKind::kTile, {operand}, webidl::TileAttributes{{3, 1, 2}});
    ExpectMoved(operand, result, [](const Shape& to) {
      return Shape{to[0] % 2, to[1] % 3, to[2] % 5};
    });
  }
}

TEST(Tile, LongRows_Wrap) {
  for (OperandDataType type : kByteTypes) {
    for (uint32_t length : {136u, 35u, 333u}) {
      HostTensor operand = Pattern(type, {13, 3, length});
      HostTensor result = RunOne(OperatorKind::kTile, {operand}, webidl::TileAttributes{{2, 1, 3}});
      ExpectMoved(operand, result, [&](const Shape& to) {
        return Shape{to[0] % 13, to[1] % 3, to[2] % length};
      });
    }
  }
}

// Where the element at `position` of a padded axis comes from.
int PadSource(webidl::PaddingMode mode, int position, int size) {
  const int last = size - 1;
  if (position >= 0 && position <= last) return position;
  if (mode == webidl::PaddingMode::kReflection) {
    return position < 0 ? -position : 2 * last - position;
  }
  if (mode == webidl::PaddingMode::kSymmetric) {
    return position < 0 ? -position - 1 : 2 * last - position + 1;
  }
  return std::clamp(position, 0, last);
}

TEST(Pad, Modes_FillTheBorder) {
  for (OperandDataType type : kByteTypes) {
    HostTensor operand = Pattern(type, {3, 4});
    Values values = operand.Values();
    for (auto mode : {webidl::PaddingMode::kConstant, webidl::PaddingMode::kEdge,
                      webidl::PaddingMode::kReflection, webidl::PaddingMode::kSymmetric}) {
      webidl::PadAttributes attributes{{2, 1}, {1, 3}, mode, 5.0};
      HostTensor result = RunOne(OperatorKind::kPad, {operand}, attributes);
      ASSERT_EQ(result.descriptor.shape(), (Shape{6, 8}));
      Values padded = result.Values();
      for (int y = -2; y < 4; ++y) {
        for (int x = -1; x < 7; ++x) {
          bool inside = y >= 0 && y < 3 && x >= 0 && x < 4;
          int row = PadSource(mode, y, 3);
          int column = PadSource(mode, x, 4);
          long double expected = !inside && mode == webidl::PaddingMode::kConstant
                                     ? 5
                                     : values[static_cast<size_t>(row * 4 + column)];
          ASSERT_EQ(padded[static_cast<size_t>((y + 2) * 8 + x + 1)], expected) << y << ", " << x;
        }
      }
    }
  }
}

// Rows of the result that are quads, whose elements lie anywhere in quads of the operand or beyond
// it.
TEST(Pad, Constants_SurroundUnalignedRows) {
  for (OperandDataType type :
       {OperandDataType::kFloat32, OperandDataType::kInt32, OperandDataType::kInt64}) {
    for (uint32_t before = 0; before < 10; ++before) {
      for (uint32_t width : {1u, 6u, 13u}) {
        HostTensor operand = Pattern(type, {2, 3, width});
        const uint32_t after = (32 - before - width) % 4 + before % 3 * 4;
        HostTensor result =
            RunOne(OperatorKind::kPad, {operand},
                   webidl::PadAttributes{
                       {1, 2, before}, {0, 1, after}, webidl::PaddingMode::kConstant, 5.0});
        Values values = operand.Values();
        Values padded = result.Values();
        const Shape& shape = result.descriptor.shape();
        ASSERT_EQ(shape[2] % 4, 0u);
        for (uint32_t e = 0; e < padded.size(); ++e) {
          const int64_t x = int64_t{e % shape[2]} - before;
          const int64_t y = int64_t{e / shape[2] % shape[1]} - 2;
          const int64_t z = int64_t{e / shape[2] / shape[1]} - 1;
          const bool inside = x >= 0 && x < width && y >= 0 && y < 3 && z >= 0;
          ASSERT_EQ(padded[e], inside ? values[(z * 3 + y) * width + x] : 5) << before << ", " << e;
        }
      }
    }
  }
}

// Rows long and many enough for a workgroup each: quads, and not.
TEST(Pad, Modes_FillTheBordersOfLongRows) {
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kInt32,
                               OperandDataType::kInt64, OperandDataType::kFloat16}) {
    for (const int width : {61, 150}) {
      HostTensor operand = Pattern(type, {70, static_cast<uint32_t>(width)});
      Values values = operand.Values();
      for (auto mode : {webidl::PaddingMode::kConstant, webidl::PaddingMode::kEdge,
                        webidl::PaddingMode::kReflection, webidl::PaddingMode::kSymmetric}) {
        Values padded =
            RunOne(OperatorKind::kPad, {operand}, webidl::PadAttributes{{1, 2}, {3, 5}, mode, 5.0})
                .Values();
        const int row = width + 7;
        ASSERT_EQ(padded.size(), static_cast<size_t>(74 * row));
        for (int e = 0; e < 74 * row; ++e) {
          const int y = e / row - 1;
          const int x = e % row - 2;
          const bool inside = y >= 0 && y < 70 && x >= 0 && x < width;
          const int source = PadSource(mode, y, 70) * width + PadSource(mode, x, width);
          const long double expected = !inside && mode == webidl::PaddingMode::kConstant
                                           ? 5
                                           : values[static_cast<size_t>(source)];
          ASSERT_EQ(padded[static_cast<size_t>(e)], expected) << y << ", " << x;
        }
      }
    }
  }
}

// What moves as words: rows of whole ones, without a border or with one of whole words, and halves
// of elements, where all of the border is the same.
TEST(Pad, WholeWords_KeepTheirPlaces) {
  constexpr int kRows = 9;
  constexpr int kChannels = 12;
  for (OperandDataType type : kByteTypes) {
    const HostTensor operand = Pattern(type, {kRows, 7, kChannels});
    const Values values = operand.Values();
    for (auto mode : {webidl::PaddingMode::kConstant, webidl::PaddingMode::kEdge,
                      webidl::PaddingMode::kReflection, webidl::PaddingMode::kSymmetric}) {
      for (const int border : {0, 4}) {
        for (const int value : {0, 5}) {
          const auto across = static_cast<uint32_t>(border);
          const Values padded =
              RunOne(OperatorKind::kPad, {operand},
                     webidl::PadAttributes{{2, 3, across}, {1, 4, 2 * across}, mode, double(value)})
                  .Values();
          const int row = kChannels + 3 * border;
          ASSERT_EQ(padded.size(), static_cast<size_t>(12 * 14 * row));
          for (int e = 0; e < 12 * 14 * row; ++e) {
            const int z = e / row / 14 - 2;
            const int y = e / row % 14 - 3;
            const int x = e % row - border;
            const bool inside = z >= 0 && z < kRows && y >= 0 && y < 7 && x >= 0 && x < kChannels;
            const int source = (PadSource(mode, z, kRows) * 7 + PadSource(mode, y, 7)) * kChannels +
                               PadSource(mode, x, kChannels);
            const long double expected = !inside && mode == webidl::PaddingMode::kConstant
                                             ? value
                                             : values[static_cast<size_t>(source)];
            ASSERT_EQ(padded[static_cast<size_t>(e)], expected) << z << ", " << y << ", " << x;
          }
        }
      }
    }
  }
}

// The value is cast as the draft casts numbers: to the nearest, ties to even, within the type.
TEST(Pad, Value_IsCastToTheType) {
  const auto border = [](OperandDataType type, webidl::Number value) {
    return RunOne(OperatorKind::kPad, {HostTensor::Create(type, {1}, {1})},
                  webidl::PadAttributes{{0}, {1}, webidl::PaddingMode::kConstant, value})
        .Values()[1];
  };
  EXPECT_EQ(border(OperandDataType::kInt32, 2.7), 3);
  EXPECT_EQ(border(OperandDataType::kUint32, 2.5), 2);
  EXPECT_EQ(border(OperandDataType::kInt8, -1e30), -128);
  EXPECT_EQ(border(OperandDataType::kUint64, int64_t{-1}), 0);
  EXPECT_EQ(border(OperandDataType::kInt64, ~uint64_t{0}), 0x7fffffffffffffffL);
  EXPECT_EQ(border(OperandDataType::kInt64, std::nan("")), 0);
  EXPECT_TRUE(std::isnan(border(OperandDataType::kFloat32, std::nan(""))));
  EXPECT_EQ(border(OperandDataType::kFloat16, 65520.0), INFINITY);
}

// Borders around some dimensions of many, whose rows are quads or not.
TEST(Pad, ManyDimensions_KeepTheirPlaces) {
  struct Case {
    Shape shape;
    std::vector<uint32_t> before;
    std::vector<uint32_t> after;
  };
  const Case cases[] = {
      {{2, 3, 6, 5}, {0, 0, 1, 1}, {0, 0, 1, 2}},
      {{2, 3, 6, 5}, {0, 0, 2, 0}, {0, 0, 0, 0}},
      {{3, 2, 2, 14}, {1, 0, 0, 1}, {0, 0, 1, 1}},
      {{2, 1, 2, 1, 3, 2}, {1, 0, 1, 1, 0, 1}, {0, 1, 0, 1, 1, 1}},
      {{9}, {3}, {4}},
      {{4, 14, 61}, {2, 1, 5}, {0, 3, 2}},
  };
  for (OperandDataType type : kByteTypes) {
    for (const Case& test : cases) {
      HostTensor operand = Pattern(type, test.shape);
      HostTensor result =
          RunOne(OperatorKind::kPad, {operand},
                 webidl::PadAttributes{test.before, test.after, webidl::PaddingMode::kEdge, 0.0});
      ExpectMoved(operand, result, [&](const Shape& to) {
        Shape from(to.size());
        for (size_t d = 0; d < to.size(); ++d) {
          int64_t position = int64_t{to[d]} - test.before[d];
          from[d] =
              static_cast<uint32_t>(std::clamp<int64_t>(position, 0, int64_t{test.shape[d]} - 1));
        }
        return from;
      });
    }
  }
}

void ExpectTriangles(OperandDataType type, uint32_t rows, uint32_t columns,
                     std::span<const int> diagonals) {
  HostTensor operand = Pattern(type, {2, rows, columns});
  Values values = operand.Values();
  for (bool upper : {false, true}) {
    for (int diagonal : diagonals) {
      HostTensor result = RunOne(OperatorKind::kTriangular, {operand},
                                 webidl::TriangularAttributes{upper, diagonal});
      Values kept = result.Values();
      for (size_t i = 0; i < kept.size(); ++i) {
        int64_t distance =
            static_cast<int64_t>(i % columns) - static_cast<int64_t>(i / columns % rows);
        bool keeps = upper ? distance >= diagonal : distance <= diagonal;
        ASSERT_EQ(kept[i], keeps ? values[i] : 0) << upper << " " << diagonal << " " << i;
      }
    }
  }
}

TEST(Triangular, Diagonals_KeepOneSide) {
  constexpr int kDiagonals[] = {
      0, 1, -2, 100, -100, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  for (OperandDataType type : kByteTypes) {
    for (uint32_t columns : {5u, 16u}) ExpectTriangles(type, 4, columns, kDiagonals);
  }
}

// Rows that are as long as a turn of words, and longer, and begin anywhere within words.
TEST(Triangular, DiagonalsOfLongRows_KeepOneSide) {
  constexpr int kDiagonals[] = {0, 70, -3, 600, -100};
  for (OperandDataType type : kByteTypes) {
    for (uint32_t columns : {64u, 67u, 129u, 258u, 511u}) {
      ExpectTriangles(type, 7, columns, kDiagonals);
    }
  }
}

}  // namespace
}  // namespace webnnd::service::moves_test
