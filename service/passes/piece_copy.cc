#include "service/passes/piece_copy.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/region_copy.h"

namespace webnnd::service {
namespace {

// Of shaders/copy_pieces.comp.
constexpr size_t kPiecesPerCall = 7;

// What moves at once: constant 1 of the kernel, and its bits.
struct Unit {
  uint32_t constant;
  uint32_t bits;
};

Unit ChooseUnit(const PieceCopy& copy, std::span<const Piece> pieces, uint32_t bits) {
  for (Unit unit : {Unit{0, 128}, Unit{1, 32}}) {
    auto is_whole = [&](uint32_t elements) { return uint64_t{elements} * bits % unit.bits == 0; };
    const bool fits = is_whole(copy.row_length) &&
                      std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
                        return is_whole(piece.row_length) && is_whole(piece.offset);
                      });
    if (fits) return unit;
  }
  return {static_cast<uint32_t>(std::bit_width(bits) - 1), bits};
}

void AppendPiece(const PieceCopy& copy, const Piece& piece, Unit unit, uint32_t bits,
                 LoweredCall& call) {
  auto units = [&](uint32_t elements) {
    return NarrowCast<uint32_t>(uint64_t{elements} * bits / unit.bits);
  };
  const uint32_t per_row = units(piece.row_length);
  const uint32_t count = NarrowCast<uint32_t>(uint64_t{copy.rows} * per_row);
  uint32_t first[] = {units(piece.offset), 0};
  uint32_t step[] = {units(copy.row_length), units(piece.row_length)};
  if (!copy.out_of_whole) {
    std::swap(first[0], first[1]);
    std::swap(step[0], step[1]);
  }
  for (uint32_t word : MakeDivisor(per_row)) call.parameters.push_back(word);
  call.parameters.insert(call.parameters.end(), {count, first[0], first[1], step[0], step[1]});
  call.invocations = std::max<uint64_t>(call.invocations, count);
  const uint64_t bytes = uint64_t{copy.rows} * piece.row_length * bits / 4;  // Read and written.
  call.cost += std::max(bytes, uint64_t{2} * count);
}

void AddCall(const PieceCopy& copy, std::span<const Piece> pieces, LoweringBuilder& builder) {
  const uint32_t bits = webidl::BitsPerElement(builder.descriptor(copy.whole).data_type());
  const Unit unit = ChooseUnit(copy, pieces, bits);
  LoweredCall call;
  call.shader =
      copy.out_of_whole ? shaders::ShaderId::kSplitPieces : shaders::ShaderId::kConcatPieces;
  call.specialization = {unit.constant, static_cast<uint32_t>(pieces.size())};
  call.buffers = {{copy.whole, !copy.out_of_whole}};
  call.parameters = {1, 0, 0, 0};
  for (const Piece& piece : pieces) {
    call.buffers.push_back({piece.value, copy.out_of_whole});
    AppendPiece(copy, piece, unit, bits, call);
  }
  // The module declares all slots, so something must be bound there.
  while (call.buffers.size() <= kPiecesPerCall) call.buffers.push_back(call.buffers.back());
  builder.AddCall(std::move(call));
}

// As a plain copy, which may turn out to be none.
void AddOne(const PieceCopy& copy, const Piece& piece, LoweringBuilder& builder) {
  if (copy.out_of_whole) {
    AddRegionCopy({.source = copy.whole,
                   .result = piece.value,
                   .dimensions = {{.size = copy.rows, .strides = {copy.row_length}},
                                  {.size = piece.row_length, .strides = {1}}},
                   .source_offset = piece.offset},
                  builder);
  } else {
    AddRegionCopy({.source = piece.value,
                   .result = copy.whole,
                   .dimensions = {{.size = copy.rows * piece.row_length, .strides = {1}}},
                   .result_offset = piece.offset,
                   .run_length = piece.row_length,
                   .run_stride = copy.row_length},
                  builder);
  }
}

// Whether rows are long enough, and enough in all for a kernel of their own, to be copied wherever
// they begin (shaders/copy_runs.comp).
bool HasLongRows(const PieceCopy& copy, const Piece& piece, uint32_t bits) {
  constexpr uint64_t kRowBytesMin = 64;
  constexpr uint64_t kBytesMin = 32 << 10;
  const uint64_t row_bytes = uint64_t{piece.row_length} * bits / 8;
  return bits >= 8 && row_bytes >= kRowBytesMin && copy.rows * row_bytes >= kBytesMin;
}

}  // namespace

void AddPieceCopies(const PieceCopy& copy, LoweringBuilder& builder) {
  const uint32_t bits = webidl::BitsPerElement(builder.descriptor(copy.whole).data_type());
  const bool lies_anywhere = ChooseUnit(copy, copy.pieces, bits).bits < 128;
  std::vector<Piece> together;
  for (const Piece& piece : copy.pieces) {
    if (!builder.wide() && lies_anywhere && HasLongRows(copy, piece, bits)) {
      AddOne(copy, piece, builder);
    } else {
      together.push_back(piece);
    }
  }
  std::span<const Piece> rest(together);
  while (!rest.empty()) {
    std::span<const Piece> pieces = rest.first(std::min(kPiecesPerCall, rest.size()));
    rest = rest.subspan(pieces.size());
    if (pieces.size() == 1) {
      AddOne(copy, pieces[0], builder);
    } else {
      AddCall(copy, pieces, builder);
    }
  }
}

}  // namespace webnnd::service
