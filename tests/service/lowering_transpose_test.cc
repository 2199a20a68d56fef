// transpose and reverse, against index arithmetic on the host.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/service/moves_fixture.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::moves_test {
namespace {

TEST(Transpose, AnyPermutation_MovesElements) {
  const std::pair<Shape, std::optional<std::vector<uint32_t>>> cases[] = {
      {{7, 5}, std::nullopt},
      {{3, 5, 7}, std::nullopt},
      {{2, 3, 4, 5}, {{0, 2, 1, 3}}},
      {{2, 3, 4, 8}, {{0, 2, 1, 3}}},
      {{2, 9, 5, 128}, {{0, 2, 1, 3}}},  // Rows long and many enough for a workgroup each,
      {{2, 9, 5, 204}, {{0, 2, 1, 3}}},  // that are not whole vectors,
      {{2, 9, 5, 68}, {{0, 2, 1, 3}}},   // nor many of them.
      {{2, 9, 5, 63}, {{0, 2, 1, 3}}},   // Rows that begin anywhere within words, in one group
      {{3, 5, 7, 41}, {{0, 2, 1, 3}}},   // or in a part of one, too; of many dimensions.
      {{2, 3, 2, 3, 2, 35}, {{4, 2, 0, 3, 1, 5}}},
      // Squares of words that begin anywhere, the last ones within others; of many dimensions.
      {{33, 47}, std::nullopt},
      {{100, 17}, std::nullopt},
      {{3, 21, 50}, {{0, 2, 1}}},
      {{2, 17, 3, 35}, {{0, 3, 2, 1}}},
      {{2, 3, 17, 2, 3, 33}, {{5, 1, 4, 3, 0, 2}}},
      // The same of elements of less than a word, each of whose parts rows begin with, and share;
      {{65, 67}, std::nullopt},
      {{66, 130}, std::nullopt},
      {{131, 79}, std::nullopt},
      {{3, 70, 101}, {{0, 2, 1}}},
      {{2, 101, 3, 71}, {{0, 3, 2, 1}}},
      {{2, 3, 67, 2, 2, 97}, {{5, 1, 4, 3, 0, 2}}},
      // short rows, all of which squares take,
      {{3, 21, 66}, {{0, 2, 1}}},
      {{5, 17, 1, 38}, {{0, 3, 2, 1}}},
      {{2, 31, 70}, {{0, 2, 1}}},
      {{3, 35, 68}, {{0, 2, 1}}},
      {{3, 62, 72}, {{0, 2, 1}}},
      {{1, 63, 140}, {{0, 2, 1}}},
      {{3, 7, 40}, {{0, 2, 1}}},
      {{2, 15, 33}, {{0, 2, 1}}},
      {{3, 3, 41}, {{0, 2, 1}}},
      // and those that go by elements, for rows are shorter still, matrices begin within words, or
      // rows lie apart.
      {{3, 5, 40}, {{0, 2, 1}}},
      {{2, 10, 100}, {{0, 2, 1}}},
      {{3, 15, 17}, {{0, 2, 1}}},
      {{3, 16, 31}, {{0, 2, 1}}},
      {{2, 2, 11, 35}, {{1, 0, 3, 2}}},
      {{3, 21, 65}, {{0, 2, 1}}},
      {{3, 35, 66}, {{0, 2, 1}}},
      {{21, 3, 64}, {{2, 1, 0}}},
      {{8, 12}, std::nullopt},
      {{32, 4}, std::nullopt},
      {{3, 16, 8}, {{0, 2, 1}}},
      {{16, 24}, std::nullopt},
      {{2, 8, 3, 16}, {{0, 3, 2, 1}}},
      {{2, 96, 16}, {{0, 2, 1}}},
      {{256, 24}, std::nullopt},
      {{32, 1024}, std::nullopt},
      {{256, 272}, std::nullopt},           // Tiles of 17 blocks each way.
      {{48, 592}, std::nullopt},            // As many columns of blocks as no tile divides.
      {{2, 1152, 136}, {{0, 2, 1}}},        // Several tiles each way, of several matrices.
      {{2, 2, 1152, 136}, {{1, 3, 0, 2}}},  // With more dimensions than kernels unroll.
      {{2, 64, 1056}, {{0, 2, 1}}},         // Squares of blocks, all that are beside each other,
      {{2, 2048, 96}, {{0, 2, 1}}},         // and some of them, column by column;
      {{2, 2, 2048, 96}, {{1, 3, 0, 2}}},   // with more dimensions than kernels unroll.
      {{4, 3, 8, 2}, {{2, 3, 1, 0}}},
      {{2, 1, 4}, {{1, 0, 2}}},
      {{2, 1, 3, 2, 1, 2, 3, 2}, {{7, 0, 5, 2, 3, 1, 6, 4}}},
      // Shuffles of pixels, and back, by so many that rows are one dimension, two, or three, with
      // more around them than kernels unroll; by fewer.
      {{1, 3, 6, 6, 20, 12}, {{0, 1, 4, 2, 5, 3}}},
      {{1, 3, 5, 5, 20, 12}, {{0, 1, 4, 2, 5, 3}}},
      {{1, 3, 20, 6, 20, 6}, {{0, 1, 3, 5, 2, 4}}},
      {{1, 3, 20, 5, 128, 5}, {{0, 1, 3, 5, 2, 4}}},
      {{3, 2, 3, 2, 3, 2, 5, 8}, {{4, 2, 0, 3, 1, 5, 7, 6}}},
      {{4, 5, 2, 6, 3, 4, 2, 7}, {{6, 0, 5, 2, 3, 1, 7, 4}}},
      {{1, 3, 2, 2, 20, 33}, {{0, 1, 4, 2, 5, 3}}},
      {{1, 3, 3, 3, 20, 23}, {{0, 1, 4, 2, 5, 3}}},
      {{1, 3, 4, 4, 9, 100}, {{0, 1, 4, 2, 5, 3}}},
      // Few streams that take turns, and that are parted: whole vectors, and others; several parts
      // of a stream; streams that lie far from each other; of many dimensions.
      {{20, 2, 8192}, {{0, 2, 1}}},
      {{20, 2, 8193}, {{0, 2, 1}}},
      {{3, 4, 16}, {{0, 2, 1}}},
      {{3, 3, 8}, {{0, 2, 1}}},
      {{5, 3, 71}, {{0, 2, 1}}},
      {{3, 16, 2}, {{0, 2, 1}}},
      {{3, 9, 3}, {{0, 2, 1}}},
      {{2, 1100, 3}, {{0, 2, 1}}},
      {{2, 1100, 4}, {{0, 2, 1}}},
      {{1, 3, 20, 2, 33, 2}, {{0, 1, 3, 5, 2, 4}}},
      {{1, 2, 5, 3, 47, 3}, {{0, 1, 3, 5, 2, 4}}},
      {{2, 3, 2, 2, 3, 2, 18}, {{4, 2, 0, 3, 1, 6, 5}}},
      {{2, 3, 2, 2, 3, 18, 3}, {{4, 2, 6, 0, 3, 1, 5}}},
      {{}, std::nullopt},
  };
  for (OperandDataType type : kTypes) {
    for (const auto& [shape, wanted] : cases) {
      const auto& permutation = wanted;  // clang 14 captures no structured binding.
      HostTensor operand = Pattern(type, shape);
      HostTensor result =
          RunOne(OperatorKind::kTranspose, {operand}, webidl::TransposeAttributes{permutation});
      ExpectMoved(operand, result, [&, rank = shape.size()](const Shape& to) {
        Shape from(rank);
        for (size_t d = 0; d < rank; ++d)
          from[permutation ? (*permutation)[d] : rank - 1 - d] = to[d];
        return from;
      });
    }
  }
}

// With those in the order in which processors that stream words, too, take them, or not.
template <class Element>
void ExpectTransposes(OperandDataType type, uint32_t rows, uint32_t columns, bool streams_words) {
  HostTensor operand = HostTensor::Create(type, {rows, columns}, {0});
  std::mt19937 random(1);
  for (std::byte& byte : operand.bytes) byte = static_cast<std::byte>(random());
  const HostTensor result = RunOne(OperatorKind::kTranspose, {operand},
                                   webidl::TransposeAttributes{std::vector<uint32_t>{1, 0}},
                                   {.transposed_words = streams_words});
  const auto* from = reinterpret_cast<const Element*>(operand.bytes.data());
  const auto* to = reinterpret_cast<const Element*>(result.bytes.data());
  for (uint32_t i = 0; i < rows * columns; ++i) {
    ASSERT_EQ(to[i % columns * rows + i / columns], from[i]) << "at " << i;
  }
}

// So many that their squares are streamed.
TEST(Transpose, OfMuch_MovesElements) {
  for (const bool streams_words : {false, true}) {
    ExpectTransposes<uint16_t>(OperandDataType::kFloat16, 1056, 4096, streams_words);
  }
  ExpectTransposes<uint32_t>(OperandDataType::kInt32, 1040, 2064, /*streams_words=*/true);
}

TEST(Reverse, ChosenAxes_RunBackwards) {
  const std::optional<std::vector<uint32_t>> cases[] = {std::nullopt, {{}}, {{0}}, {{2}}, {{1, 2}}};
  for (OperandDataType type : kByteTypes) {
    // Among them rows that quads do not go along: of one vector, of several, in two parts.
    for (uint32_t last : {3u, 8u, 17u, 37u, 96u, 201u, 2101u}) {
      for (const auto& axes : cases) {
        HostTensor operand = Pattern(type, {2, 3, last});
        HostTensor result =
            RunOne(OperatorKind::kReverse, {operand}, webidl::ReverseAttributes{axes});
        ExpectMoved(operand, result, [&](Shape at) {
          for (uint32_t axis : axes.value_or(std::vector<uint32_t>{0, 1, 2})) {
            at[axis] = operand.descriptor.shape()[axis] - 1 - at[axis];
          }
          return at;
        });
      }
    }
  }
}

// With more dimensions around rows than kernels unroll.
TEST(Reverse, ManyDimensions_RunBackwards) {
  const std::vector<uint32_t> axes = {0, 2, 4, 6, 7};
  for (OperandDataType type : kByteTypes) {
    const HostTensor operand = Pattern(type, {2, 2, 2, 2, 2, 2, 2, 17});
    const HostTensor result =
        RunOne(OperatorKind::kReverse, {operand}, webidl::ReverseAttributes{axes});
    ExpectMoved(operand, result, [&](Shape at) {
      for (uint32_t axis : axes) at[axis] = operand.descriptor.shape()[axis] - 1 - at[axis];
      return at;
    });
  }
}

}  // namespace
}  // namespace webnnd::service::moves_test
