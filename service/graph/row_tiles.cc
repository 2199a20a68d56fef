#include "service/graph/row_tiles.h"

#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace webnnd::service {
namespace {

// A tile is in the host's memory while it is turned: 1 MiB at most.
constexpr uint32_t kLoadsMax = 2048;

}  // namespace

uint32_t CountTiledLoads(const webidl::OperandDescriptor& constant) {
  if (webidl::BitsPerElement(constant.data_type()) != 4 || constant.rank() != 3) return 0;
  const webidl::Shape& shape = constant.shape();
  if (shape[0] % kRowsOfTile != 0) return 0;
  if (shape[2] < kWeightsPerLoad || !std::has_single_bit(shape[2])) return 0;
  const uint64_t loads = uint64_t{shape[1]} * (shape[2] / kWeightsPerLoad);
  return loads <= kLoadsMax ? static_cast<uint32_t>(loads) : 0;
}

Status ReadByTiles(uint32_t loads, const ReadBytes& read, std::span<std::byte> tiles) {
  const size_t tile_bytes = size_t{kRowsOfTile} * loads * kBytesPerLoad;
  CHECK(tile_bytes != 0 && tiles.size() % tile_bytes == 0);
  std::vector<std::byte> rows(tile_bytes);
  for (size_t offset = 0; offset < tiles.size(); offset += tile_bytes) {
    TRY(read(offset, rows));
    // In the order of `tiles`, which may be memory that is slow to go back and forth in.
    std::byte* out = tiles.data() + offset;
    for (uint32_t load = 0; load < loads; ++load) {
      for (uint32_t row = 0; row < kRowsOfTile; ++row) {
        std::memcpy(out, rows.data() + (size_t{row} * loads + load) * kBytesPerLoad, kBytesPerLoad);
        out += kBytesPerLoad;
      }
    }
  }
  return {};
}

}  // namespace webnnd::service
