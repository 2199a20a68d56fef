// Matrix products.
#include <algorithm>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::Shape;

long double At(const Array& matrix, const Position& batch, uint32_t row, uint32_t column) {
  const Shape& shape = matrix.shape();
  const Shape own_batch(shape.begin(), shape.end() - 2);
  const uint64_t first = BroadcastIndex(batch, own_batch) * shape[shape.size() - 2] * shape.back();
  return matrix.values[first + uint64_t{row} * shape.back() + column];
}

uint32_t PickRows(CaseMaker& maker) {
  return maker.OneIn(3) ? 1 : maker.Between(1, maker.Flip() ? 9 : 40);
}
uint32_t PickDepth(CaseMaker& maker) {
  return maker.Between(1, maker.Flip() ? 8 : (maker.OneIn(4) ? 700 : 70));
}

}  // namespace

void MakeMatmul(CaseMaker& maker) {
  const auto type = maker.PickType(0);
  Shape batch = maker.MakeShape(0, 6);
  uint32_t count = 1;
  for (uint32_t& size : batch) {
    size = std::min(size, 3u);
    if (count * size > 12) size = 1;
    count *= size;
  }
  const uint32_t depth = PickDepth(maker);
  const auto with = [&](Shape own, uint32_t rows, uint32_t columns) {
    own.push_back(rows);
    own.push_back(columns);
    return own;
  };
  maker.Add(type, with(maker.MakeBroadcastable(batch), PickRows(maker), depth));
  maker.Add(type, with(maker.MakeBroadcastable(batch), depth, PickRows(maker)));
}

void EvaluateMatmul(const Arguments& arguments, std::span<Array> results) {
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  const uint32_t depth = a.shape().back();
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const Position at = Unravel(i, results[0].shape());
    const Position batch(at.begin(), at.end() - 2);
    Sum sum;
    for (uint32_t k = 0; k < depth; ++k) {
      sum.Add(Real(At(a, batch, at[at.size() - 2], k)) * Real(At(b, batch, k, at.back())));
    }
    results[0].Set(i, sum.Result());
  }
}

void MakeGemm(CaseMaker& maker) {
  const auto type = maker.PickType(0);
  auto& gemm = maker.attributes<webidl::GemmAttributes>();
  gemm.a_transpose = maker.Flip();
  gemm.b_transpose = maker.Flip();
  if (maker.Flip()) gemm.alpha = 0.5 * maker.Between(0, 5);
  if (maker.Flip()) gemm.beta = 0.5 * maker.Between(0, 5) - 1;
  const uint32_t rows = PickRows(maker);
  const uint32_t columns = PickRows(maker);
  const uint32_t depth = PickDepth(maker);
  maker.Add(type, gemm.a_transpose ? Shape{depth, rows} : Shape{rows, depth});
  maker.Add(type, gemm.b_transpose ? Shape{columns, depth} : Shape{depth, columns});
  maker.AddOptional(type, maker.MakeBroadcastable({rows, columns}), Domain::kModerate);
}

void EvaluateGemm(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::GemmAttributes>(arguments.attributes);
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  const Array* c = arguments.operands[2];
  const uint32_t depth = a.shape()[attributes.a_transpose ? 0 : 1];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const Position at = Unravel(i, results[0].shape());
    Sum sum;
    for (uint32_t k = 0; k < depth; ++k) {
      sum.Add(Real(attributes.a_transpose ? At(a, {}, k, at[0]) : At(a, {}, at[0], k)) *
              Real(attributes.b_transpose ? At(b, {}, at[1], k) : At(b, {}, k, at[1])));
    }
    Real result = sum.Result() * Real(attributes.alpha);
    if (c != nullptr) {
      result = result + Real(attributes.beta) * Real(c->values[BroadcastIndex(at, c->shape())]);
    }
    results[0].Set(i, result);
  }
}

}  // namespace webnnd::reference
