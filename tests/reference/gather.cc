// gather and scatter: operators that move elements to places that other operands name.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::Shape;

// A negative index counts from the end; what is still out of range is clamped.
uint32_t ResolveIndex(long double index, uint32_t size) {
  if (index < 0) index += size;
  return static_cast<uint32_t>(std::clamp<long double>(index, 0, size - 1));
}

// The coordinates that row `row` of an indices tensor names in the leading dimensions of `shape`.
Position ResolveRow(const Array& indices, uint64_t row, const Shape& shape) {
  const uint32_t depth = indices.shape().back();
  Position position(depth);
  for (uint32_t d = 0; d < depth; ++d) {
    position[d] = ResolveIndex(indices.values[row * depth + d], shape[d]);
  }
  return position;
}

// The shape of a few indices.
Shape MakeIndicesShape(CaseMaker& maker) {
  Shape shape = maker.MakeShape(0, 3);
  for (uint32_t& size : shape) size = std::min(size, 5u);
  return shape;
}

}  // namespace

void MakeGather(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(1, 5);
  maker.Add(maker.PickType(0), shape);
  const uint32_t axis = maker.PickAxis(shape);
  maker.attributes<webidl::GatherAttributes>().axis = axis;
  maker.AddIndices(MakeIndicesShape(maker), [&](uint64_t) { return shape[axis]; });
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

void MakeGatherElements(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  const uint32_t axis = maker.PickAxis(shape);
  maker.attributes<webidl::GatherAttributes>().axis = axis;
  Shape indices = shape;
  indices[axis] = maker.Between(1, 6);
  maker.AddIndices(indices, [&](uint64_t) { return shape[axis]; });
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

void MakeGatherNd(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(1, 5);
  maker.Add(maker.PickType(0), shape);
  const uint32_t depth = maker.Between(1, static_cast<uint32_t>(shape.size()));
  Shape indices = MakeIndicesShape(maker);
  indices.push_back(depth);
  maker.AddIndices(indices, [&](uint64_t i) { return shape[i % depth]; });
}

void EvaluateGatherNd(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& indices = *arguments.operands[1];
  const Shape rows(indices.shape().begin(), indices.shape().end() - 1);
  Move(input, results[0], [&](const Position& at) {
    uint64_t row = Ravel({at.begin(), at.begin() + rows.size()}, rows);
    Position from = ResolveRow(indices, row, input.shape());
    from.insert(from.end(), at.begin() + rows.size(), at.end());
    return from;
  });
}

// The draft does not say which of several writes to one place counts; we promise the last.
void MakeScatterElements(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  const auto type = maker.PickType(0);
  maker.Add(type, shape);
  const uint32_t axis = maker.PickAxis(shape);
  maker.attributes<webidl::ScatterAttributes>().axis = axis;
  Shape indices = shape;
  indices[axis] = maker.Between(1, 6);
  maker.AddIndices(indices, [&](uint64_t) { return shape[axis]; });
  maker.Add(type, indices);
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

void MakeScatterNd(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(1, 5);
  const auto type = maker.PickType(0);
  maker.Add(type, shape);
  const uint32_t depth = maker.Between(1, static_cast<uint32_t>(shape.size()));
  Shape updates = MakeIndicesShape(maker);
  Shape indices = updates;
  indices.push_back(depth);
  maker.AddIndices(indices, [&](uint64_t i) { return shape[i % depth]; });
  updates.insert(updates.end(), shape.begin() + depth, shape.end());
  maker.Add(type, updates);
}

void EvaluateScatterNd(const Arguments& arguments, std::span<Array> results) {
  const Array& indices = *arguments.operands[1];
  const Array& updates = *arguments.operands[2];
  const Shape rows(indices.shape().begin(), indices.shape().end() - 1);
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
