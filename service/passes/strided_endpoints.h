// StridedEndpoints: tensors of dynamic shape lie with the strides of their capacity. What a graph
// computes with is packed, so that copies stand at its edges where that is not the same.
#ifndef WEBNND_SERVICE_PASSES_STRIDED_ENDPOINTS_H_
#define WEBNND_SERVICE_PASSES_STRIDED_ENDPOINTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/result.h"
#include "service/passes/compile.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Dimensions of `shape` as they lie in a tensor of shape `capacity`, in elements: neighbours that
// are contiguous there are joined, and ones of size 1 left out.
struct CapacityDimension {
  uint32_t size = 1;
  uint32_t stride = 1;
};
std::vector<CapacityDimension> DimensionsInCapacity(std::span<const uint32_t> shape,
                                                    std::span<const uint32_t> capacity);
// Whether the elements lie there as they do packed.
bool LiesPacked(std::span<const uint32_t> shape, std::span<const uint32_t> capacity);

// What lowers the edges of one graph. Where concat grows a tensor that is its first operand and its
// result at once, only the others are written.
class StridedEndpoints {
 public:
  // All outlive it. Without capacities it does nothing.
  StridedEndpoints(Graph& graph, const PlanOptions& options, LoweringBuilder& builder)
      : graph_(graph), options_(options), builder_(builder) {}

  // Before anything else is lowered: gives inputs that do not lie packed, or grow, a new value, the
  // tensor at its capacity, and copies from there.
  Status LowerInputs();
  // Whether the node is a concat that writes an output's tensor itself.
  bool IsAppend(const Node& node) const;
  Status LowerAppend(const Node& node);
  // After everything else: the reverse for outputs.
  Status LowerOutputs();

 private:
  struct Append {
    uint32_t output = 0;
    ValueId tensor = kNoValue;  // The output's, at its capacity.
    ValueId old = kNoValue;     // The same as the input, where the two are one tensor.
  };

  // An input that appends alone read, straight from where it lies.
  struct Unpacked {
    ValueId tensor = kNoValue;
    const webidl::Shape* capacity = nullptr;
  };

  void FindAppends();
  bool IsOnlyAppended(ValueId input) const;
  // Whether attention reads both its keys and its values from tensors that grow, where they lie.
  bool ReadsTensors(const Node& node) const;
  // How many rows a matrix of the append's result has room for, where matrices lie packed but for
  // that; else 0.
  uint32_t RoomForRows(ValueId result) const;
  // Lets attention read the tensor of an append; returns whether anybody needs the result packed.
  bool PassTensorOn(ValueId result, const Node& append);
  Result<ValueId> AddTensor(Value::Kind kind, ValueId like, uint32_t index,
                            const webidl::Shape& capacity);
  void Pack(ValueId tensor, ValueId packed, const webidl::Shape& capacity);
  // Copies `source` to where its elements begin in the tensor.
  Status CopyToTensor(ValueId source, ValueId tensor, const webidl::Shape& capacity,
                      uint32_t offset);

  Graph& graph_;
  const PlanOptions& options_;
  LoweringBuilder& builder_;
  std::map<ValueId, Append> appends_;  // By the result of the concat.
  std::map<ValueId, Unpacked> unpacked_;
  std::set<const Node*> readers_;  // Attention that reads tensors of appends itself.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_STRIDED_ENDPOINTS_H_
