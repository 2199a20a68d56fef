#include "service/passes/fusion/head_rows.h"

#include <algorithm>

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// Whether a kernel can turn them while it loads four elements at once.
bool TurnsByFours(const RotaryEmbedding& rotary) {
  return rotary.rotary_size % (rotary.interleaved ? 4 : 8) == 0;
}

// A cast that only widens: indices are the same without it.
ValueId SkipWidening(const GraphIndex& index, ValueId positions) {
  if (positions == kNoValue) return kNoValue;
  const ValueId source = index.SkipReshapes(positions);
  const Node* cast = index.Producer(source, OperatorKind::kCast);
  if (cast == nullptr || index.descriptor(source).data_type() != OperandDataType::kInt64 ||
      index.descriptor(cast->operands[0]).data_type() != OperandDataType::kInt32) {
    return positions;
  }
  return cast->operands[0];
}

// What lies before a part of rows that a split along their last dimension has made.
HeadRows SkipSplit(const GraphIndex& index, HeadRows found, uint32_t rows) {
  const ValueId part = index.SkipReshapes(found.value);
  found.value = part;
  const Node* split = index.Producer(part, OperatorKind::kSplit);
  if (split == nullptr) return found;
  const Shape& whole = index.shape(split->operands[0]);
  if (std::get<webidl::SplitAttributes>(split->attributes).axis + 1 != whole.size() ||
      index.descriptor(split->operands[0]).element_count() != uint64_t{rows} * whole.back()) {
    return found;
  }
  uint32_t offset = 0;
  for (ValueId result : split->results) {
    if (result == part) break;
    offset += index.shape(result).back();
  }
  // Kernels load four elements at once.
  if (offset % 4 != 0 || whole.back() % 4 != 0) return found;
  found.value = split->operands[0];
  found.offset = offset;
  return found;
}

}  // namespace

HeadRows FindHeadRows(const GraphIndex& index, ValueId value, const HeadShape& shape) {
  HeadRows found{index.SkipReshapes(value)};
  if (const Node* node = index.MacroProducer<RotaryEmbedding>(found.value)) {
    const auto& rotary = std::get<RotaryEmbedding>(node->macro);
    const bool is_alike = rotary.rows == shape.rows && rotary.sequence == shape.rows &&
                          rotary.heads == shape.heads && rotary.head_size == shape.head_size &&
                          (!rotary.heads_first || rotary.rows == 1);
    if (is_alike && TurnsByFours(rotary)) {
      found = {node->operands[0],
               0,
               {rotary.rotary_size, rotary.interleaved, rotary.consecutive},
               node->operands[1],
               node->operands[2],
               node->operands[3]};
      // Sums of positions wrap around in their own type.
      if (rotary.rows == 1) found.positions = SkipWidening(index, found.positions);
    }
  }
  return SkipSplit(index, found, shape.rows);
}

}  // namespace webnnd::service
