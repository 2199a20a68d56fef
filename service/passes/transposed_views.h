// TransposedViews: transposes that need no kernel, because products read and write matrices with
// any strides.
#ifndef WEBNND_SERVICE_PASSES_TRANSPOSED_VIEWS_H_
#define WEBNND_SERVICE_PASSES_TRANSPOSED_VIEWS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "service/graph/graph.h"

namespace webnnd::service {

// Where the elements of a value lie: in the memory of `value`, `strides[d]` elements from one index
// of dimension d to the next.
struct StridedView {
  ValueId value = kNoValue;
  std::vector<uint32_t> strides;
};

// The strides with which a transpose reads its operand, of shape `operand`, in the order of its
// result.
std::vector<uint32_t> TransposedStrides(const Node& transpose, const webidl::Shape& operand);

// Of the graph as it is when this is made; values may be added to it.
class TransposedViews {
 public:
  explicit TransposedViews(const Graph& graph);

  // What a product reads for `matrices`, its first or second operand: what they were transposed
  // from, where that has no kernel, or themselves.
  StridedView Operand(ValueId matrices) const;
  // What a product writes for `result`: what it is transposed to, where that has no kernel, or
  // itself.
  StridedView Result(ValueId result) const;
  // Whether the node is a transpose that has no kernel.
  bool Covers(const Node& node) const;

 private:
  StridedView Packed(ValueId value) const;

  const Graph& graph_;
  std::map<ValueId, StridedView> operands_;  // By the transpose's result.
  std::map<ValueId, StridedView> results_;   // By its operand.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_TRANSPOSED_VIEWS_H_
