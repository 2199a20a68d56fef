// Operators that move elements, gather and scatter included.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/reference/indexing.h"
#include "tests/reference/reference.h"

namespace webnnd::reference {
namespace {

// result[at] = operand[map(at)]
template <class Map>
void Move(const Array& operand, Array& result, Map map) {
  for (uint64_t i = 0; i < result.size(); ++i) {
    result.values[i] = operand.values[Ravel(map(Unravel(i, result.shape())), operand.shape())];
  }
}

// A negative index counts from the end; what is still out of range is clamped.
uint32_t ResolveIndex(long double index, uint32_t size) {
  if (index < 0) index += size;
  return static_cast<uint32_t>(std::clamp<long double>(index, 0, size - 1));
}

// The coordinates that row `row` of an indices tensor names in the leading dimensions of `shape`.
Position ResolveRow(const Array& indices, uint64_t row, const webidl::Shape& shape) {
  const uint32_t depth = indices.shape().back();
  Position position(depth);
  for (uint32_t d = 0; d < depth; ++d) {
    position[d] = ResolveIndex(indices.values[row * depth + d], shape[d]);
  }
  return position;
}

}  // namespace

void EvaluateCopy(const Arguments& arguments, std::span<Array> results) {
  results[0].values = arguments.operands[0]->values;
}

void EvaluateTranspose(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::TransposeAttributes>(arguments.attributes);
  const size_t rank = results[0].shape().size();
  Move(*arguments.operands[0], results[0], [&](const Position& at) {
    Position from(rank);
    for (size_t d = 0; d < rank; ++d) {
      from[attributes.permutation ? (*attributes.permutation)[d] : rank - 1 - d] = at[d];
    }
    return from;
  });
}

void EvaluateSlice(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::SliceAttributes>(arguments.attributes);
  Move(*arguments.operands[0], results[0], [&](Position at) {
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = attributes.starts[d] + at[d] * (attributes.strides ? (*attributes.strides)[d] : 1);
    }
    return at;
  });
}

void EvaluateSplit(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::SplitAttributes>(arguments.attributes);
  uint32_t start = 0;
  for (Array& result : results) {
    Move(*arguments.operands[0], result, [&](Position at) {
      at[attributes.axis] += start;
      return at;
    });
    start += result.shape()[attributes.axis];
  }
}

void EvaluateConcat(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::ConcatAttributes>(arguments.attributes).axis;
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    size_t source = 0;
    while (at[axis] >= arguments.operands[source]->shape()[axis]) {
      at[axis] -= arguments.operands[source++]->shape()[axis];
    }
    const Array& operand = *arguments.operands[source];
    results[0].values[i] = operand.values[Ravel(at, operand.shape())];
  }
}

void EvaluateExpand(const Arguments& arguments, std::span<Array> results) {
  const Array& operand = *arguments.operands[0];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    results[0].values[i] = operand.values[BroadcastIndex(at, operand.shape())];
  }
}

void EvaluateTile(const Arguments& arguments, std::span<Array> results) {
  const webidl::Shape& shape = arguments.operands[0]->shape();
  Move(*arguments.operands[0], results[0], [&](Position at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] %= shape[d];
    return at;
  });
}

void EvaluateReverse(const Arguments& arguments, std::span<Array> results) {
  const auto& axes = std::get<webidl::ReverseAttributes>(arguments.attributes).axes;
  const webidl::Shape& shape = results[0].shape();
  Move(*arguments.operands[0], results[0], [&](Position at) {
    for (uint32_t d = 0; d < at.size(); ++d) {
      if (!axes || std::find(axes->begin(), axes->end(), d) != axes->end()) {
        at[d] = shape[d] - 1 - at[d];
      }
    }
    return at;
  });
}

void EvaluatePad(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::PadAttributes>(arguments.attributes);
  const Array& operand = *arguments.operands[0];
  const long double value =
      std::visit([](auto v) { return static_cast<long double>(v); }, attributes.value);
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t size = operand.shape()[d];
      int64_t from = int64_t{at[d]} - attributes.beginning_padding[d];
      if (from < 0 || from >= size) {
        inside = inside && attributes.mode != webidl::PaddingMode::kConstant;
        if (attributes.mode == webidl::PaddingMode::kReflection) {
          from = from < 0 ? -from : 2 * (size - 1) - from;
        }
        if (attributes.mode == webidl::PaddingMode::kSymmetric) {
          from = from < 0 ? -1 - from : 2 * size - 1 - from;
        }
        from = std::clamp<int64_t>(from, 0, size - 1);
      }
      at[d] = static_cast<uint32_t>(from);
    }
    results[0].values[i] =
        inside ? operand.values[Ravel(at, operand.shape())] : RoundTo(operand.type(), value);
  }
}

void EvaluateTriangular(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::TriangularAttributes>(arguments.attributes);
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    int64_t row = at[at.size() - 2];
    int64_t column = at[at.size() - 1];
    bool kept = attributes.upper ? column >= row + attributes.diagonal
                                 : column <= row + attributes.diagonal;
    results[0].values[i] = kept ? arguments.operands[0]->values[i] : 0;
  }
}

void EvaluateGather(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::GatherAttributes>(arguments.attributes).axis;
  const Array& input = *arguments.operands[0];
  const Array& indices = *arguments.operands[1];
  const size_t indices_rank = indices.shape().size();
  Move(input, results[0], [&](const Position& at) {
    Position index(at.begin() + axis, at.begin() + axis + indices_rank);
    Position from(at.begin(), at.begin() + axis);
    from.push_back(
        ResolveIndex(indices.values[Ravel(index, indices.shape())], input.shape()[axis]));
    from.insert(from.end(), at.begin() + axis + indices_rank, at.end());
    return from;
  });
}

void EvaluateGatherElements(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::GatherAttributes>(arguments.attributes).axis;
  const Array& input = *arguments.operands[0];
  const Array& indices = *arguments.operands[1];
  Move(input, results[0], [&](Position at) {
    at[axis] = ResolveIndex(indices.values[Ravel(at, indices.shape())], input.shape()[axis]);
    return at;
  });
}

void EvaluateGatherNd(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& indices = *arguments.operands[1];
  const webidl::Shape rows(indices.shape().begin(), indices.shape().end() - 1);
  Move(input, results[0], [&](const Position& at) {
    uint64_t row = Ravel({at.begin(), at.begin() + rows.size()}, rows);
    Position from = ResolveRow(indices, row, input.shape());
    from.insert(from.end(), at.begin() + rows.size(), at.end());
    return from;
  });
}

void EvaluateScatterElements(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::ScatterAttributes>(arguments.attributes).axis;
  const Array& indices = *arguments.operands[1];
  results[0].values = arguments.operands[0]->values;
  for (uint64_t i = 0; i < indices.size(); ++i) {
    Position at = Unravel(i, indices.shape());
    at[axis] = ResolveIndex(indices.values[i], results[0].shape()[axis]);
    results[0].values[Ravel(at, results[0].shape())] = arguments.operands[2]->values[i];
  }
}

void EvaluateScatterNd(const Arguments& arguments, std::span<Array> results) {
  const Array& indices = *arguments.operands[1];
  const Array& updates = *arguments.operands[2];
  const webidl::Shape rows(indices.shape().begin(), indices.shape().end() - 1);
  results[0].values = arguments.operands[0]->values;
  for (uint64_t i = 0; i < updates.size(); ++i) {
    Position at = Unravel(i, updates.shape());
    uint64_t row = Ravel({at.begin(), at.begin() + rows.size()}, rows);
    Position to = ResolveRow(indices, row, results[0].shape());
    to.insert(to.end(), at.begin() + rows.size(), at.end());
    results[0].values[Ravel(to, results[0].shape())] = updates.values[i];
  }
}

}  // namespace webnnd::reference
