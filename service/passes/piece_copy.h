// PieceCopy: kernel calls that copy several pieces each, out of one tensor or into one.
#ifndef WEBNND_SERVICE_PASSES_PIECE_COPY_H_
#define WEBNND_SERVICE_PASSES_PIECE_COPY_H_

#include <cstdint>
#include <vector>

#include "service/passes/lowering.h"

namespace webnnd::service {

// Rows of one tensor, which has no others, inside another one. All counts are in elements.
struct Piece {
  ValueId value = kNoValue;
  uint32_t row_length = 0;
  uint32_t offset = 0;  // Of the first row in the whole.
};

struct PieceCopy {
  ValueId whole = kNoValue;
  bool out_of_whole = false;  // Split; else concat.
  uint32_t rows = 0;
  uint32_t row_length = 0;  // Of the whole.
  std::vector<Piece> pieces;
};

// Adds a call for each few pieces. No piece is empty.
void AddPieceCopies(const PieceCopy& copy, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_PIECE_COPY_H_
