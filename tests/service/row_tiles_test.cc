#include "service/graph/row_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Shape;

uint32_t LoadsOf(OperandDataType type, const Shape& shape) {
  return CountTiledLoads(*OperandDescriptor::Create(type, shape));
}

TEST(RowTiles, WeightsOfFourBits_AreKeptByTiles) {
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 3, 32}), 3u);
  EXPECT_EQ(LoadsOf(OperandDataType::kInt4, {64, 2, 128}), 8u);
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 2048, 32}), 2048u);
}

TEST(RowTiles, OtherConstants_AreKeptAsTheyAre) {
  EXPECT_EQ(LoadsOf(OperandDataType::kUint8, {32, 3, 32}), 0u);
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {48, 3, 32}), 0u);
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 3, 16}), 0u);
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 3, 96}), 0u);
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 96}), 0u);
  // A tile of these would not be small.
  EXPECT_EQ(LoadsOf(OperandDataType::kUint4, {32, 2049, 32}), 0u);
}

TEST(RowTiles, Loads_LieInTheOrderInWhichProductsReadThem) {
  constexpr uint32_t kLoads = 3;
  constexpr uint32_t kRows = 64;
  constexpr size_t kBytes = size_t{kRows} * kLoads * kBytesPerLoad;
  std::vector<std::byte> rows(kBytes);
  for (size_t i = 0; i < kBytes; ++i) {
    // The load, and the byte in it.
    rows[i] = static_cast<std::byte>((i / kBytesPerLoad) ^ (i % kBytesPerLoad << 4));
  }
  std::vector<std::byte> tiles(kBytes);
  auto read = [&](uint64_t offset, std::span<std::byte> out) -> Status {
    std::copy_n(rows.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  };
  ASSERT_TRUE(ReadByTiles(kLoads, read, tiles).ok());
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t load = 0; load < kLoads; ++load) {
      for (size_t byte = 0; byte < kBytesPerLoad; ++byte) {
        const size_t place = (row / 32 * kLoads + load) * 32 + row % 32;
        ASSERT_EQ(tiles[place * kBytesPerLoad + byte],
                  rows[(row * kLoads + load) * kBytesPerLoad + byte])
            << "row " << row << ", load " << load << ", byte " << byte;
      }
    }
  }
}

TEST(RowTiles, AnErrorOfReading_EndsIt) {
  std::vector<std::byte> tiles(3 * 32 * kBytesPerLoad);
  int calls = 0;
  auto read = [&](uint64_t, std::span<std::byte>) -> Status {
    if (++calls == 2) return ValidationError("the file ends");
    return {};
  };
  const Status status = ReadByTiles(1, read, tiles);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "the file ends");
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace webnnd::service
