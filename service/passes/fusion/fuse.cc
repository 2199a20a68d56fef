#include "service/passes/fusion/fuse.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/trace.h"
#include "service/passes/fusion/elementwise_chain.h"
#include "service/passes/fusion/normalized_products.h"
#include "service/passes/fusion/patterns.h"
#include "service/passes/fusion/simplify.h"

namespace webnnd::service {
namespace {

struct Row {
  Pattern pattern;
  // Whether it is looked for at what earlier patterns made, too.
  bool of_macros = false;
};

// In the order in which they are looked for.
constexpr Row kPatterns[] = {
    {MatchBlockMatmul},
    {MatchRmsNormalization},
    // The longest first.
    {MatchTransposedRotaryEmbedding},
    {MatchPartialRotaryEmbedding},
    {MatchRotaryEmbedding},
    {MatchAttention},
    {MatchAttentionOfOneRow},
    {MatchKeyValueWrite},
    {MatchGatedMatmul},
    // What is left of products; the longest first.
    {MatchActivatedProduct},
    {MatchProductWithResidual},
    {MatchProductWithBias},
    {MatchMatmulGroup, /*of_macros=*/true},
    {MatchNormalizedRowsOfTable, /*of_macros=*/true},
};

// One pattern, everywhere in a graph.
class Pass {
 public:
  // `index` is the graph's.
  Pass(Graph& graph, const FusionChoice& choice, const GraphIndex& index)
      : graph_(graph),
        choice_(choice),
        index_(index),
        taken_(graph.nodes.size()),
        joined_at_(graph.nodes.size(), kNotJoined) {}

  // Whether it has changed the graph.
  bool Run(const Row& row) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const bool is_macro = !std::holds_alternative<std::monostate>(graph_.nodes[i].macro);
      if (taken_[i] || (is_macro && !row.of_macros)) continue;
      std::optional<Match> match = row.pattern(index_, graph_.nodes[i]);
      if (match && choice_.Allows(match->node.macro) && Take(*match, i))
        matches_.push_back({i, std::move(match->node)});
    }
    if (matches_.empty()) return false;
    for (Found& found : matches_) Replace(found);
    SortNodes();
    DropUnreachedNodes(graph_, FindReached(graph_));
    return true;
  }

 private:
  struct Found {
    size_t at;
    Node node;
  };
  // A match with several results: whoever needs one of them waits for all of its operands.
  struct Joined {
    size_t first;
    size_t last;
    std::vector<ValueId> operands;
  };
  static constexpr size_t kNotJoined = SIZE_MAX;

  static bool Contains(const std::vector<ValueId>& values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }
  // The node that makes `value`.
  size_t ProducerOf(ValueId value) const { return graph_.values[value].index; }
  bool IsMadeHere(ValueId value) const {
    return value != kNoValue && graph_.values[value].kind == Value::Kind::kResult;
  }

  // Whether the match may replace what it stands for; if so, no other match gets these nodes.
  bool Take(const Match& match, size_t last) {
    std::vector<size_t> replaced = {last};
    auto add = [&](ValueId value) {
      if (value == kNoValue) return;
      size_t node = ProducerOf(value);
      if (std::find(replaced.begin(), replaced.end(), node) == replaced.end()) {
        replaced.push_back(node);
      }
    };
    for (ValueId value : match.hidden) add(value);
    for (ValueId value : match.node.results) add(value);
    // The macro takes the place of the last operator, so it makes what that made, or hides it.
    for (ValueId value : graph_.nodes[last].results) {
      if (value != kNoValue && !Contains(match.node.results, value) &&
          !Contains(match.hidden, value)) {
        return false;
      }
    }
    if (std::any_of(replaced.begin(), replaced.end(), [&](size_t node) { return taken_[node]; })) {
      return false;
    }
    for (ValueId value : match.hidden) {
      size_t uses = 0;
      for (const Node* user : index_.users(value)) {
        auto at = static_cast<size_t>(user - graph_.nodes.data());
        uses += std::find(replaced.begin(), replaced.end(), at) != replaced.end();
      }
      if (uses != index_.use_count(value)) return false;
    }
    if (match.node.results.size() > 1) {
      const Joined joined = Join(match);
      if (ResultsReachOperands(match, FirstOnPath(joined.first))) return false;
      for (ValueId value : match.node.results) {
        if (value != kNoValue) joined_at_[ProducerOf(value)] = joined_.size();
      }
      joined_.push_back(joined);
    }
    for (size_t node : replaced) taken_[node] = true;
    return true;
  }

  Joined Join(const Match& match) const {
    Joined joined{graph_.nodes.size(), 0, match.node.operands};
    for (ValueId value : match.node.results) {
      if (value == kNoValue) continue;
      joined.first = std::min(joined.first, ProducerOf(value));
      joined.last = std::max(joined.last, ProducerOf(value));
    }
    return joined;
  }

  // Only nodes from this one on can be on a path to the results of which `first` is the first:
  // those behind it, and those joined with others behind it.
  size_t FirstOnPath(size_t first) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Joined& joined : joined_) {
        if (joined.last < first || joined.first >= first) continue;
        first = joined.first;
        changed = true;
      }
    }
    return first;
  }

  // Whether an operand depends on a result, now or once earlier matches are replaced: the macro
  // would wait for itself.
  bool ResultsReachOperands(const Match& match, size_t first) const {
    std::vector<ValueId> waiting = match.node.operands;
    std::vector<bool> seen(graph_.nodes.size());
    while (!waiting.empty()) {
      ValueId value = waiting.back();
      waiting.pop_back();
      if (!IsMadeHere(value)) continue;
      size_t node = ProducerOf(value);
      if (node < first || seen[node]) continue;
      seen[node] = true;
      if (Contains(match.node.results, value)) return true;
      waiting.insert(waiting.end(), graph_.nodes[node].operands.begin(),
                     graph_.nodes[node].operands.end());
      if (joined_at_[node] == kNotJoined) continue;
      const std::vector<ValueId>& others = joined_[joined_at_[node]].operands;
      waiting.insert(waiting.end(), others.begin(), others.end());
    }
    return false;
  }

  void Replace(Found& found) {
    for (ValueId value : found.node.results) {
      if (value == kNoValue) continue;
      // Who made it before makes nothing any more, and will be dropped.
      graph_.nodes[ProducerOf(value)].results.clear();
      graph_.values[value].index = static_cast<uint32_t>(found.at);
    }
    graph_.nodes[found.at] = std::move(found.node);
  }

  // A macro with several results stands where the last of them was made, and others may use the
  // first one before: puts operands before their users again, keeping the order otherwise.
  void SortNodes() {
    std::vector<size_t> order;
    std::vector<uint8_t> state(graph_.nodes.size(), kNew);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) Visit(i, state, order);
    std::vector<Node> sorted;
    sorted.reserve(order.size());
    for (size_t at : order) sorted.push_back(std::move(graph_.nodes[at]));
    graph_.nodes = std::move(sorted);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (ValueId value : graph_.nodes[i].results) {
        if (value != kNoValue) graph_.values[value].index = static_cast<uint32_t>(i);
      }
    }
  }

  enum State : uint8_t { kNew, kOpen, kDone };

  // Appends `root` after everything that it depends on; without recursion: graphs are deep.
  void Visit(size_t root, std::vector<uint8_t>& state, std::vector<size_t>& order) const {
    std::vector<size_t> stack = {root};
    while (!stack.empty()) {
      size_t at = stack.back();
      if (state[at] == kDone) {
        stack.pop_back();
        continue;
      }
      if (state[at] == kOpen) {
        state[at] = kDone;
        order.push_back(at);
        stack.pop_back();
        continue;
      }
      state[at] = kOpen;
      for (ValueId value : graph_.nodes[at].operands) {
        if (!IsMadeHere(value)) continue;
        size_t before = ProducerOf(value);
        CHECK(state[before] != kOpen);
        if (state[before] == kNew) stack.push_back(before);
      }
    }
  }

  Graph& graph_;
  const FusionChoice& choice_;
  const GraphIndex& index_;
  std::vector<bool> taken_;
  std::vector<size_t> joined_at_;  // By node that makes a result: which of these.
  std::vector<Joined> joined_;
  std::vector<Found> matches_;
};

}  // namespace

void Fuse(Graph& graph, const FusionChoice& choice) {
  TraceScope scope("fuse");
  std::optional<GraphIndex> index;
  for (const Row& row : kPatterns) {
    if (!index) index.emplace(graph);
    if (Pass(graph, choice, *index).Run(row)) index.reset();
  }
  if (choice.Allows(MatmulGroup())) FuseNormalizedProducts(graph);
  Simplify(graph);
  if (choice.Allows(ElementwiseChain())) FuseElementwise(graph);
}

}  // namespace webnnd::service
