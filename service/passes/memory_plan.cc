#include "service/passes/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/placement.h"

namespace webnnd::service {
namespace {

uint64_t BufferBytes(const webidl::OperandDescriptor& descriptor) {
  return AlignUp<uint64_t>(descriptor.byte_length(), 4);
}

uint64_t ReservedBytes(const Value& value) {
  return std::max(BufferBytes(value.descriptor), AlignUp<uint64_t>(value.reserved_bytes, 4));
}

// What of a tensor kernels see: as much as it can have, so that it is the same at any shape.
uint64_t TensorBytes(const Value& value, const std::vector<webidl::Shape>& capacities,
                     size_t index) {
  const uint64_t bytes = BufferBytes(value.descriptor);
  if (capacities.empty()) return bytes;
  uint64_t bits = webidl::BitsPerElement(value.descriptor.data_type());
  for (uint32_t size : capacities[index]) bits *= size;
  return std::max(bytes, std::min(AlignUp<uint64_t>((bits + 7) / 8, 4), limits::kBindingBytesMax));
}

struct Interval {
  ValueId root = kNoValue;
  size_t first_call = 0;
  size_t last_call = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

std::vector<Interval> FindLiveIntervals(const Graph& graph, const Placement& placement,
                                        const std::vector<LoweredCall>& calls) {
  std::map<ValueId, Interval> intervals;
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const LoweredBuffer& buffer : calls[i].buffers) {
      ValueId root = placement.root(buffer.value);
      if (!placement.InArena(root)) continue;
      auto [entry, inserted] =
          intervals.try_emplace(root, Interval{root, i, i, ReservedBytes(graph.values[root]), 0});
      entry->second.last_call = i;
    }
  }
  std::vector<Interval> list;
  for (auto& [root, interval] : intervals) list.push_back(interval);
  return list;
}

// Intervals that have an offset, found by when they are alive: a segment tree over all intervals in
// the order of their first calls, each node with the latest last call below it.
class PlacedIntervals {
 public:
  explicit PlacedIntervals(const std::vector<Interval>& intervals) : intervals_(intervals) {
    while (leaf_count_ < intervals.size()) leaf_count_ *= 2;
    end_below_.assign(2 * leaf_count_, 0);
    by_first_call_.resize(intervals.size());
    std::iota(by_first_call_.begin(), by_first_call_.end(), 0);
    std::stable_sort(by_first_call_.begin(), by_first_call_.end(), [&](size_t a, size_t b) {
      return intervals[a].first_call < intervals[b].first_call;
    });
    leaf_of_.resize(intervals.size());
    for (size_t leaf = 0; leaf < by_first_call_.size(); ++leaf) {
      leaf_of_[by_first_call_[leaf]] = leaf;
    }
  }

  // `index` into the intervals, whose offset is final.
  void Add(size_t index) {
    size_t end = intervals_[index].last_call + 1;
    for (size_t node = leaf_count_ + leaf_of_[index]; node != 0; node /= 2) {
      end_below_[node] = std::max(end_below_[node], end);
    }
  }

  // Those added that are alive at some time together with `interval`; at most `count_max`.
  std::vector<const Interval*> FindTogether(const Interval& interval, size_t count_max) const {
    std::vector<const Interval*> found;
    Collect(1, interval, count_max, found);
    return found;
  }

 private:
  // In the order of first calls, so that it ends at the first one that begins too late.
  bool Collect(size_t node, const Interval& interval, size_t count_max,
               std::vector<const Interval*>& found) const {
    if (end_below_[node] <= interval.first_call) return true;
    if (node < leaf_count_) {
      return Collect(2 * node, interval, count_max, found) &&
             Collect(2 * node + 1, interval, count_max, found);
    }
    const Interval& other = intervals_[by_first_call_[node - leaf_count_]];
    if (other.first_call > interval.last_call || found.size() >= count_max) return false;
    found.push_back(&other);
    return true;
  }

  const std::vector<Interval>& intervals_;
  std::vector<size_t> by_first_call_;  // Indices into intervals_.
  std::vector<size_t> leaf_of_;        // The inverse.
  size_t leaf_count_ = 1;
  std::vector<size_t> end_below_;  // By node: the greatest last_call + 1 of those added, or 0.
};

// The lowest offset at which `bytes` fit between what lies there already.
uint64_t FindGap(std::vector<const Interval*> together, uint64_t bytes) {
  std::sort(together.begin(), together.end(),
            [](const Interval* a, const Interval* b) { return a->offset < b->offset; });
  uint64_t offset = 0;
  for (const Interval* other : together) {
    if (offset + bytes <= other->offset) break;
    offset = std::max(offset, AlignUp<uint64_t>(other->offset + other->bytes, kBufferAlignment));
  }
  return offset;
}

// Greedy by size: the largest first, each at the lowest offset where nothing alive with it lies.
Result<uint64_t> AssignOffsets(std::vector<Interval>& intervals) {
  // Networks have a few values alive at a time. A graph made to have very many would otherwise cost
  // their square: what comes after so many comparisons gets a place of its own at the end.
  size_t comparisons_left = 1 << 22;
  std::stable_sort(intervals.begin(), intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.bytes > b.bytes; });
  PlacedIntervals placed(intervals);
  uint64_t arena_bytes = 0;
  for (size_t i = 0; i < intervals.size(); ++i) {
    Interval& interval = intervals[i];
    auto together = placed.FindTogether(interval, comparisons_left);
    comparisons_left -= together.size();
    interval.offset = comparisons_left > 0 ? FindGap(std::move(together), interval.bytes)
                                           : AlignUp<uint64_t>(arena_bytes, kBufferAlignment);
    auto end = CheckedAdd(interval.offset, interval.bytes);
    // Rounding up, here and above, must not wrap around either.
    if (!end || *end > UINT64_MAX - kBufferAlignment) {
      return OutOfMemoryError("the graph's intermediates overflow (64 bits)");
    }
    arena_bytes = std::max(arena_bytes, *end);
    placed.Add(i);
  }
  return arena_bytes;
}

bool Overlap(const BufferRef& a, const BufferRef& b) {
  return a.space == b.space && a.index == b.index && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

// A barrier orders all calls before it with all after it, so only the calls since the last one
// count.
void PlaceBarriers(std::vector<KernelCall>& calls) {
  // A barrier that is not needed costs less than comparing every call with all others.
  constexpr size_t kTouchedMax = 256;
  std::vector<BufferRef> touched;
  for (KernelCall& call : calls) {
    bool hazard = touched.size() >= kTouchedMax ||
                  std::any_of(call.buffers.begin(), call.buffers.end(), [&](const BufferRef& use) {
                    return std::any_of(touched.begin(), touched.end(), [&](const auto& earlier) {
                      return (use.written || earlier.written) && Overlap(use, earlier);
                    });
                  });
    if (hazard) {
      call.barrier_before = true;
      touched.clear();
    }
    touched.insert(touched.end(), call.buffers.begin(), call.buffers.end());
  }
}

class Planner {
 public:
  Planner(const Graph& graph, LoweringBuilder lowered, const PlanOptions& options)
      : options_(options),
        graph_(graph),
        lowered_(std::move(lowered)),
        guard_bytes_(options.guard_bytes),
        placement_(graph, lowered_, options.aliases) {}

  Result<CompiledGraph> Run() {
    std::vector<Interval> intervals = FindLiveIntervals(graph_, placement_, lowered_.calls());
    // What an output copies from must live to the end.
    for (const Placement::Copy& copy : placement_.copied_outputs()) {
      ValueId root = placement_.root(copy.value);
      for (Interval& interval : intervals) {
        if (interval.root == root) interval.last_call = lowered_.calls().size();
      }
    }
    if (guard_bytes_ != 0) Separate(intervals);
    ASSIGN_OR_RETURN(compiled_.plan.arena_bytes, AssignOffsets(intervals));
    compiled_.plan.counter_bytes = lowered_.counter_bytes();
    for (const Interval& interval : intervals) arena_offset_[interval.root] = interval.offset;

    for (LoweredCall& call : lowered_.calls()) {
      std::vector<BufferRef> buffers;
      for (const LoweredBuffer& buffer : call.buffers) {
        BufferRef whole = Refer(buffer.value, buffer.written);
        CHECK(buffer.offset % kBufferAlignment == 0 && buffer.offset <= whole.bytes &&
              buffer.bytes <= whole.bytes - buffer.offset);
        whole.offset += buffer.offset;
        whole.bytes = buffer.bytes != 0 ? buffer.bytes : whole.bytes - buffer.offset;
        if (whole.bytes > limits::kBindingBytesMax) {
          return NotSupportedError("{}: a tensor ({} bytes) is larger than a kernel can take ({})",
                                   call.label, whole.bytes, limits::kBindingBytesMax);
        }
        buffers.push_back(whole);
      }
      AddCall(std::move(call), std::move(buffers));
    }
    for (const Placement::Copy& copy : placement_.copied_outputs()) TRY(CopyOutput(copy));
    compiled_.plan.copy_count =
        placement_.inserted_copies() + static_cast<uint32_t>(placement_.copied_outputs().size());
    for (const Graph::Input& input : graph_.inputs) {
      const size_t index = compiled_.plan.input_bytes.size();
      compiled_.plan.input_bytes.push_back(
          TensorBytes(graph_.values[input.value], options_.input_capacities, index));
    }
    for (const Graph::Output& output : graph_.outputs) {
      const size_t index = compiled_.plan.output_bytes.size();
      compiled_.plan.output_bytes.push_back(
          TensorBytes(graph_.values[output.value], options_.output_capacities, index));
    }
    PlaceBarriers(compiled_.plan.calls);
    return std::move(compiled_);
  }

 private:
  // All are alive all the time, and larger by a guard band.
  void Separate(std::vector<Interval>& intervals) const {
    for (Interval& interval : intervals) {
      interval.first_call = 0;
      interval.last_call = lowered_.calls().size();
      interval.bytes += guard_bytes_;
    }
  }

  void AddCall(LoweredCall call, std::vector<BufferRef> buffers) {
    CHECK(buffers.size() <= kBuffersPerCallMax);
    CHECK(call.parameters.size() <= kParametersPerCallMax);
    compiled_.plan.calls.push_back({call.shader, std::move(call.specialization), std::move(buffers),
                                    std::move(call.parameters), call.invocations, call.workgroups,
                                    false, call.cost, call.cost_per_turn, std::move(call.label)});
  }

  Status CopyOutput(const Placement::Copy& copy) {
    ValueId value = copy.value;
    uint64_t bytes = BufferBytes(graph_.values[value].descriptor);
    if (bytes > limits::kBindingBytesMax) {
      return NotSupportedError("the output ({}, {} bytes) is larger than a kernel can copy ({})",
                               graph_.outputs[copy.output].name, bytes, limits::kBindingBytesMax);
    }
    LoweredCall call = MakeCopyCall(graph_, value, value);
    AddCall(std::move(call),
            {Refer(value, false),
             {BufferSpace::kOutput, copy.output, 0,
              TensorBytes(graph_.values[value], options_.output_capacities, copy.output),
              /*written=*/true}});
    return {};
  }

  BufferRef Refer(ValueId value, bool written) {
    ValueId root = placement_.root(value);
    uint64_t bytes = BufferBytes(graph_.values[value].descriptor);
    const Value& place = graph_.values[root];
    if (uint32_t output = placement_.output_of_root(root); output != Placement::kNone) {
      bytes = TensorBytes(graph_.values[value], options_.output_capacities, output);
      return {BufferSpace::kOutput, output, 0, bytes, written};
    }
    switch (place.kind) {
      case Value::Kind::kInput:
        CHECK(!written);
        bytes = TensorBytes(graph_.values[value], options_.input_capacities, place.index);
        return {BufferSpace::kInput, place.index, 0, bytes, written};
      case Value::Kind::kConstant:
        CHECK(!written);
        return {BufferSpace::kConstant, ReferConstant(place.index), 0, bytes, written};
      case Value::Kind::kCounters:
        return {BufferSpace::kCounters, 0, uint64_t{place.index} * sizeof(uint32_t), bytes,
                written};
      case Value::Kind::kResult:
        break;
    }
    bytes = std::max(bytes, std::min(ReservedBytes(graph_.values[value]), ReservedBytes(place)));
    return {BufferSpace::kArena, 0, arena_offset_.at(root), bytes, written};
  }

  // The plan's index of a constant; constants with one buffer share it.
  uint32_t ReferConstant(uint32_t constant) {
    const GraphConstant& used = graph_.constants[constant];
    auto [entry, inserted] = plan_constant_of_buffer_.try_emplace(
        used.buffer, static_cast<uint32_t>(compiled_.constant_buffers.size()));
    if (inserted) {
      compiled_.constant_buffers.push_back(used.buffer);
      compiled_.plan.constant_bytes.push_back(BufferBytes(used.descriptor));
    }
    return entry->second;
  }

  const PlanOptions& options_;
  const Graph& graph_;
  LoweringBuilder lowered_;
  uint64_t guard_bytes_;
  Placement placement_;
  std::map<ValueId, uint64_t> arena_offset_;
  std::map<uint32_t, uint32_t> plan_constant_of_buffer_;
  CompiledGraph compiled_;
};

}  // namespace

Result<CompiledGraph> PlanMemory(const Graph& graph, LoweringBuilder lowered,
                                 const PlanOptions& options) {
  return Planner(graph, std::move(lowered), options).Run();
}

}  // namespace webnnd::service
