// Row tiles: the order in which weights of 4 bits lie on the device.
//
// A product's eight neighbouring invocations compute eight neighbouring rows, and load 16 bytes of
// each at a time (shaders/block_gemv.comp), those of every eighth row after another. So of each 32
// rows the first 16 bytes lie together, then the second: what they load at once is a piece of
// memory or two, and what they load next follows. Row r's load i is the ((r / 32 * loads + i) * 32
// + r % 32)th of the constant.
#ifndef WEBNND_SERVICE_GRAPH_ROW_TILES_H_
#define WEBNND_SERVICE_GRAPH_ROW_TILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {

inline constexpr uint32_t kRowsOfTile = 32;
inline constexpr uint32_t kBytesPerLoad = 16;
// Of 4 bits.
inline constexpr uint32_t kWeightsPerLoad = 2 * kBytesPerLoad;

// The loads in a row of a constant that is kept by tiles: weights of 4 bits [N, K / block, block]
// as products take them (IsBlockGemvWeight), with N a multiple of 32. 0: it is kept as it is.
uint32_t CountTiledLoads(const webidl::OperandDescriptor& constant);

// Writes `out[0, size)` with bytes from `offset` on.
using ReadBytes = std::function<Status(uint64_t offset, std::span<std::byte> out)>;
// Fills `tiles`, whole tiles of rows of `loads` loads, with the rows that `read` gives one after
// the other. The first error of `read` is the result.
Status ReadByTiles(uint32_t loads, const ReadBytes& read, std::span<std::byte> tiles);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_GRAPH_ROW_TILES_H_
