// Graph: what a builder has collected, validated: the form that passes work on.
#ifndef WEBNND_SERVICE_GRAPH_GRAPH_H_
#define WEBNND_SERVICE_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/streamed_stores.h"
#include "service/graph/macro.h"
#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {

using ValueId = uint32_t;  // Index into Graph::values.
inline constexpr ValueId kNoValue = 0xffffffff;

// An operand of the graph.
struct Value {
  // kCounters: of lowering (LoweringBuilder::AddCounters).
  enum class Kind : uint8_t { kInput, kConstant, kResult, kCounters };
  Kind kind = Kind::kResult;
  webidl::OperandDescriptor descriptor;
  // kInput: index into Graph::inputs. kConstant: index into Graph::constants.
  // kResult: index of the operator that produces it. kCounters: how many counters are before them.
  uint32_t index = 0;
  // Bytes that memory is planned with, where that is more than it has.
  uint64_t reserved_bytes = 0;
  // A constant in panels (service/passes/pack_filters.h): the filter that they were made of.
  std::shared_ptr<const webidl::OperandDescriptor> panels_of;
};

// An operator. Slots follow the signature (webidl/generated/signatures.h); kNoValue for an absent
// optional operand. Where fusion made it (macro.h), slots follow the macro operator, and kind and
// attributes are those of the last operator that it stands for.
struct Node {
  webidl::OperatorKind kind{};
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::string label;
  webidl::OperatorAttributes attributes;
  Macro macro;
};

struct GraphConstant {
  webidl::OperandDescriptor descriptor;
  // Index of the device buffer that the session holds for it.
  uint32_t buffer = 0;
  // For passes that look at values: what `buffer` holds, where it is small; else null.
  std::shared_ptr<const std::vector<std::byte>> bytes;
  // The loads in each row of a constant whose buffer has its rows by tiles (row_tiles.h); 0: the
  // elements lie in their order.
  uint32_t tiled_loads = 0;
};

// What lowering knows of a device.
struct DeviceTraits {
  // It runs tens of thousands of invocations at once: it needs as many to be busy, and they need
  // not be the same work for each.
  bool wide = false;
  // Its subgroups have four invocations, where others have eight and more.
  bool narrow = false;
  StreamedStores streamed_stores;
};

struct Graph {
  struct Input {
    std::string name;
    ValueId value = kNoValue;
  };
  struct Output {
    std::string name;
    ValueId value = kNoValue;
  };

  std::vector<Value> values;
  std::vector<Node> nodes;  // In an order in which operands come before their users.
  std::vector<GraphConstant> constants;
  std::vector<Input> inputs;  // In the order of the tensors of a dispatch.
  std::vector<Output> outputs;
  DeviceTraits device;  // Of the one that it is for.
  // What lowering adds has room to grow in.
  bool reserves = false;
  webidl::DimensionNames names;  // Of dynamic dimensions, all of them known from inputs.
};

// GraphConstant::tiled_loads of a constant; 0 of any other value.
uint32_t TiledLoads(const Graph& graph, ValueId value);

// What the node is called in labels and errors.
std::string_view NodeName(const Node& node);

// Which values the outputs need, by value.
std::vector<bool> FindReached(const Graph& graph);
// Drops the nodes none of whose results is `reached`.
void DropUnreachedNodes(Graph& graph, const std::vector<bool>& reached);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_GRAPH_GRAPH_H_
