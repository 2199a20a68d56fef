#include "examples/generate/merge.h"

#include <cstddef>
#include <queue>
#include <tuple>

namespace webnnd::generate {
namespace {

constexpr int32_t kGone = -1;

// A node of a list inside a vector; a merge keeps the left node and unlinks the right one.
struct Node {
  int32_t id;
  size_t previous;
  size_t next;
};

struct Candidate {
  Merge merge;
  size_t left;
  // What the two were when this was found: a candidate whose nodes have changed since is stale.
  int32_t left_id;
  int32_t right_id;

  bool operator>(const Candidate& other) const {
    return std::tie(merge.priority, left) > std::tie(other.merge.priority, other.left);
  }
};

}  // namespace

std::vector<int32_t> MergePairs(
    const std::vector<int32_t>& ids,
    const std::function<std::optional<Merge>(int32_t left, int32_t right)>& find) {
  const size_t end = ids.size();
  std::vector<Node> nodes(end);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  auto consider = [&](size_t left) {
    if (left >= end || nodes[left].next >= end) return;
    int32_t right_id = nodes[nodes[left].next].id;
    if (auto merge = find(nodes[left].id, right_id)) {
      candidates.push({*merge, left, nodes[left].id, right_id});
    }
  };

  for (size_t i = 0; i < end; ++i) nodes[i] = {ids[i], i == 0 ? end : i - 1, i + 1};
  for (size_t i = 0; i + 1 < end; ++i) consider(i);
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    Node& left = nodes[best.left];
    if (left.id != best.left_id || left.next >= end || nodes[left.next].id != best.right_id) {
      continue;
    }
    Node& right = nodes[left.next];
    left.id = best.merge.id;
    right.id = kGone;
    left.next = right.next;
    if (left.next < end) nodes[left.next].previous = best.left;
    consider(left.previous);
    consider(best.left);
  }

  std::vector<int32_t> merged;
  for (const Node& node : nodes) {
    if (node.id != kGone) merged.push_back(node.id);
  }
  return merged;
}

}  // namespace webnnd::generate
