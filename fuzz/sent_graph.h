// SentGraph: a graph as a client sends it, and its form as a fuzzer's input: the messages' frames,
// one after the other.
#ifndef WEBNND_FUZZ_SENT_GRAPH_H_
#define WEBNND_FUZZ_SENT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ipc/messages.h"
#include "webidl/generated/types.h"

namespace webnnd::fuzz {

// Larger inputs find nothing that smaller ones do not, and take longer. All of it fits one frame.
inline constexpr size_t kEntriesMax = 64;
// Operators with lists of operands, and results of split; well above and below the wire's limit.
inline constexpr size_t kListMax = 40;

struct SentConstant {
  uint32_t operand = 0;
  ipc::WireDescriptor descriptor;  // At most limits::kInlinePayloadBytesMax bytes, all 0.
};

struct SentGraph {
  std::vector<ipc::GraphInput> inputs;
  std::vector<SentConstant> constants;
  std::vector<webidl::Operator> operators;
  std::vector<ipc::GraphOutput> outputs;  // Sorted by name, as a client sends them.
};

// nullopt where the bytes are not the frames of such a graph, or the graph is beyond the bounds.
std::optional<SentGraph> ReadGraph(std::span<const std::byte> bytes);

// Must be within the bounds. What it writes is read as the same.
std::vector<std::byte> WriteGraph(const SentGraph& graph);

// Whether the graph is within the bounds that ReadGraph demands.
bool IsWithinBounds(const SentGraph& graph);

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_SENT_GRAPH_H_
