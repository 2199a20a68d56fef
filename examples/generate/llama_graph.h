// A decoder of Llama's kind as a WebNN graph.
#ifndef WEBNND_EXAMPLES_GENERATE_LLAMA_GRAPH_H_
#define WEBNND_EXAMPLES_GENERATE_LLAMA_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/config.h"
#include "examples/generate/device_weights.h"

namespace webnnd::generate {

struct GraphSpec {
  uint32_t rows = 0;      // Tokens that one dispatch takes; at most, where caches grow.
  uint32_t capacity = 0;  // Positions that the key/value caches have room for.
  // present = concat(past, new): the sizes of the ids and of the caches are dynamic, and say which
  // positions the tokens have. Else the caches have one size, and rows are written into them.
  bool growing = false;
  // What a dispatch says about the token that follows; see the outputs' names.
  bool logits = false;
  bool next_id = false;
  uint32_t first_logits = 0;  // How many; 0: no such output.
};

// Names of the graph's inputs and outputs.
inline constexpr char kIdsInput[] = "ids";            // int32 [rows], [seq] where caches grow.
inline constexpr char kPositionInput[] = "position";  // int32 [1]: of the first row. Not growing.
// int32 [1]: the row whose logits are wanted. Only where rows > 1; where caches grow, it is the
// last.
inline constexpr char kLastRowInput[] = "last_row";
inline constexpr char kLogitsOutput[] = "logits";  // float32 [1, vocabulary]
// int32 [1]: the likeliest token. It can be the next dispatch's ids.
inline constexpr char kNextIdOutput[] = "next_id";
inline constexpr char kFirstLogitsOutput[] = "first_logits";  // float32 [1, first_logits]
// float32 [key/value heads, capacity, head_dim], one each per layer. The present is the past with
// the rows of this dispatch written at their positions. Where caches grow, the past is
// [key/value heads, past, head_dim], and the present [key/value heads, past + seq, head_dim].
std::string PastKeyName(uint32_t layer);
std::string PastValueName(uint32_t layer);
std::string PresentKeyName(uint32_t layer);
std::string PresentValueName(uint32_t layer);

// Builds the graph from primitive operators. A row attends to the positions up to its own; what the
// caches hold beyond is masked, so it may be anything finite. Where fewer tokens than rows are
// left, the surplus rows write behind the last position, and later dispatches write over it:
// position + rows must not exceed the capacity. Growing caches have no such rows.
Result<std::shared_ptr<webnn::Graph>> BuildLlamaGraph(
    webnn::ML& ml, const std::shared_ptr<webnn::Context>& context, const ModelConfig& config,
    const DeviceWeights& weights, const GraphSpec& spec);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_LLAMA_GRAPH_H_
