// Operators that move elements to places that their attributes name.
#include <algorithm>
#include <limits>
#include <optional>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {

using webidl::Shape;

// The same dimensions in another order, split or joined.
void MakeReshape(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  Shape& new_shape = maker.attributes<webidl::ReshapeAttributes>().new_shape;
  new_shape = shape;
  if (new_shape.size() < 8 && maker.Flip()) new_shape.push_back(1);
  std::reverse(new_shape.begin(), new_shape.end());
  if (new_shape.size() > 1 && maker.Flip()) {
    const uint32_t last = new_shape.back();
    new_shape.pop_back();
    new_shape.back() *= last;
  }
}

void EvaluateCopy(const Arguments& arguments, std::span<Array> results) {
  results[0].values = arguments.operands[0]->values;
}

void MakeTranspose(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  if (maker.OneIn(4)) return;
  std::vector<uint32_t> permutation;
  while (permutation.size() < shape.size()) {
    // The axes that a pick leaves out come from later picks.
    for (uint32_t axis : maker.PickAxes(shape.size())) {
      if (std::find(permutation.begin(), permutation.end(), axis) == permutation.end()) {
        permutation.push_back(axis);
      }
    }
  }
  maker.attributes<webidl::TransposeAttributes>().permutation = std::move(permutation);
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

void MakeSlice(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  auto& slice = maker.attributes<webidl::SliceAttributes>();
  if (maker.Flip()) slice.strides.emplace();
  for (uint32_t size : shape) {
    // Whole dimensions matter: they join with their neighbours.
    slice.starts.push_back(maker.OneIn(3) ? 0 : maker.Between(0, size - 1));
    const uint32_t most = size - slice.starts.back();
    slice.sizes.push_back(maker.OneIn(3) ? most : maker.Between(1, most));
    if (slice.strides) slice.strides->push_back(maker.Between(1, slice.sizes.back() + 1));
  }
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

void MakeSplit(CaseMaker& maker) {
  Shape shape = maker.MakeShapeOf(0);
  auto& split = maker.attributes<webidl::SplitAttributes>();
  split.axis = maker.PickAxis(shape);
  if (maker.Flip()) {
    const uint32_t parts = maker.Between(1, 3);
    shape[split.axis] = parts * maker.Between(1, 4);
    split.splits = parts;
  } else {
    std::vector<uint32_t> sizes;
    for (uint32_t left = shape[split.axis]; left > 0; left -= sizes.back()) {
      sizes.push_back(maker.Between(1, left));
    }
    split.splits = std::move(sizes);
  }
  maker.Add(maker.PickType(0), shape);
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

void MakeConcat(CaseMaker& maker) {
  Shape shape = maker.MakeShapeOf(0);
  const auto type = maker.PickType(0);
  const uint32_t axis = maker.PickAxis(shape);
  maker.attributes<webidl::ConcatAttributes>().axis = axis;
  for (uint32_t i = maker.Between(1, 5); i > 0; --i) {
    shape[axis] = maker.Between(1, 5);
    maker.Add(type, shape);
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

void MakeExpand(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(0, 8);
  maker.Add(maker.PickType(0), maker.MakeBroadcastable(shape));
  maker.attributes<webidl::ExpandAttributes>().new_shape = shape;
}

void EvaluateExpand(const Arguments& arguments, std::span<Array> results) {
  const Array& operand = *arguments.operands[0];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    results[0].values[i] = operand.values[BroadcastIndex(at, operand.shape())];
  }
}

void MakeTile(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    const uint32_t most = maker.OneIn(3) ? 3 : 1;
    maker.attributes<webidl::TileAttributes>().repetitions.push_back(maker.Between(1, most));
  }
}

void EvaluateTile(const Arguments& arguments, std::span<Array> results) {
  const Shape& shape = arguments.operands[0]->shape();
  Move(*arguments.operands[0], results[0], [&](Position at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] %= shape[d];
    return at;
  });
}

void MakeReverse(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  if (maker.OneIn(4)) return;
  maker.attributes<webidl::ReverseAttributes>().axes = maker.PickAxes(shape.size());
}

void EvaluateReverse(const Arguments& arguments, std::span<Array> results) {
  const auto& axes = std::get<webidl::ReverseAttributes>(arguments.attributes).axes;
  const Shape& shape = results[0].shape();
  Move(*arguments.operands[0], results[0], [&](Position at) {
    for (uint32_t d = 0; d < at.size(); ++d) {
      if (!axes || std::find(axes->begin(), axes->end(), d) != axes->end()) {
        at[d] = shape[d] - 1 - at[d];
      }
    }
    return at;
  });
}

void MakePad(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  const auto type = maker.PickType(0);
  const Array& input = maker.Add(type, shape);
  auto& pad = maker.attributes<webidl::PadAttributes>();
  pad.mode = maker.Pick<webidl::PaddingMode>(webidl::kPaddingModeCount);
  if (maker.Flip()) {
    const long double value = input.values[0];
    if (IsFloat(type)) {
      pad.value = static_cast<double>(value);
    } else if (value < 0) {
      pad.value = static_cast<int64_t>(value);
    } else {
      pad.value = static_cast<uint64_t>(value);
    }
  }
  for (uint32_t size : shape) {
    // Reflection does not repeat the edge, so it reaches no further than the other one.
    uint32_t most = maker.OneIn(3) ? 0 : 3;
    if (pad.mode == webidl::PaddingMode::kReflection) most = std::min(size - 1, most);
    if (pad.mode == webidl::PaddingMode::kSymmetric) most = std::min(size, most);
    pad.beginning_padding.push_back(maker.Between(0, most));
    pad.ending_padding.push_back(maker.Between(0, most));
  }
}

void EvaluatePad(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::PadAttributes>(arguments.attributes);
  const Array& operand = *arguments.operands[0];
  const long double value = CastTo(operand.type(), attributes.value);
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
    results[0].values[i] = inside ? operand.values[Ravel(at, operand.shape())] : value;
  }
}

void MakeTriangular(CaseMaker& maker) {
  maker.Add(maker.PickType(0), maker.MakeShapeOf(0));
  auto& triangular = maker.attributes<webidl::TriangularAttributes>();
  triangular.upper = maker.Flip();
  triangular.diagonal = static_cast<int32_t>(maker.Between(0, 8)) - 4;
  if (maker.OneIn(10)) triangular.diagonal = std::numeric_limits<int32_t>::min();
  if (maker.OneIn(10)) triangular.diagonal = std::numeric_limits<int32_t>::max();
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

}  // namespace webnnd::reference
