#include "tests/support/guarded_run.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace webnnd::service {
namespace {

using Bytes = std::vector<std::byte>;

// As words: NaN, or a huge number, of float32 and of two float16. No byte, nor half of one, is the
// same.
constexpr uint32_t kPatterns[] = {0xffffffffu, 0x7bee7beeu};

Bytes Pattern(uint32_t word, uint64_t bytes) {
  Bytes all(bytes);
  for (uint64_t i = 0; i < bytes; i += 4) {
    std::memcpy(all.data() + i, &word, std::min<uint64_t>(4, bytes - i));
  }
  return all;
}

struct Range {
  uint64_t offset;
  uint64_t bytes;
};

// A plan whose tensors lie `kGuardBytes` behind the start of their buffers, and whose arena and
// counters are its last two outputs, so that they can be filled and looked at.
struct GuardedPlan {
  Plan plan;
  std::vector<Range> intermediates;  // Of the arena, that kernels may write.
};

GuardedPlan Guard(Plan plan) {
  GuardedPlan guarded;
  const auto arena = static_cast<uint32_t>(plan.output_bytes.size());
  plan.output_bytes.push_back(std::exchange(plan.arena_bytes, 0));
  plan.output_bytes.push_back(std::exchange(plan.counter_bytes, 0));
  for (KernelCall& call : plan.calls) {
    for (BufferRef& buffer : call.buffers) {
      CHECK(buffer.space != BufferSpace::kConstant);
      if (buffer.space == BufferSpace::kArena) {
        guarded.intermediates.push_back({buffer.offset, buffer.bytes});
        buffer.space = BufferSpace::kOutput;
        buffer.index = arena;
      } else if (buffer.space == BufferSpace::kCounters) {
        buffer.space = BufferSpace::kOutput;
        buffer.index = arena + 1;
      }
      buffer.offset += kGuardBytes;
      if (buffer.bytes + kGuardBytes <= limits::kBindingBytesMax) buffer.bytes += kGuardBytes;
    }
  }
  for (uint64_t& bytes : plan.input_bytes) bytes += 2 * kGuardBytes;
  for (uint64_t& bytes : plan.output_bytes) bytes += 2 * kGuardBytes;
  guarded.plan = std::move(plan);
  return guarded;
}

Status Fill(Timeline& timeline, std::shared_ptr<Buffer> buffer, const Bytes& bytes) {
  return timeline.Write(std::move(buffer), 0, bytes.size(),
                        [&](uint64_t offset, std::span<std::byte> staging) -> Status {
                          std::memcpy(staging.data(), bytes.data() + offset, staging.size());
                          return {};
                        });
}

Result<Bytes> ReadAll(Timeline& timeline, std::shared_ptr<Buffer> buffer) {
  Result<Bytes> answer = InternalError("the read has no answer");
  const uint64_t bytes = buffer->bytes();
  TRY(timeline.Read(std::move(buffer), bytes, [&](Result<std::span<const std::byte>> data) {
    if (data.ok()) {
      answer = Bytes(data->begin(), data->end());
    } else {
      answer = data.error();
    }
  }));
  TRY(timeline.WaitIdle());
  return answer;
}

// Bytes of `all` outside of `written` are those of `before`.
Status CheckUntouched(const char* name, size_t index, const Bytes& before, const Bytes& all,
                      const std::vector<Range>& written) {
  if (before == all) return {};
  std::vector<bool> may_differ(all.size());
  for (const Range& range : written) {
    std::fill_n(may_differ.begin() + static_cast<ptrdiff_t>(kGuardBytes + range.offset),
                range.bytes, true);
  }
  for (uint64_t i = 0; i < all.size(); ++i) {
    if (may_differ[i] || before[i] == all[i]) continue;
    return InternalError("a kernel wrote outside of what it may, in {} {} (at byte {} of {})", name,
                         index, static_cast<int64_t>(i - kGuardBytes),
                         all.size() - 2 * kGuardBytes);
  }
  return {};
}

// Packed types may leave half of the last byte.
void Truncate(Bytes& bytes, uint64_t bits) {
  bytes.resize((bits + 7) / 8);
  if (bits % 8 != 0) bytes.back() &= static_cast<std::byte>((1u << (bits % 8)) - 1);
}

class GuardedRunner {
 public:
  static Result<std::unique_ptr<GuardedRunner>> Create(std::shared_ptr<Device> device,
                                                       GuardedPlan guarded) {
    auto runner = std::make_unique<GuardedRunner>();
    const Plan& plan = guarded.plan;
    for (uint64_t bytes : plan.input_bytes) {
      ASSIGN_OR_RETURN(auto buffer, device->Allocate(bytes));
      runner->inputs_.push_back(std::move(buffer));
    }
    for (uint64_t bytes : plan.output_bytes) {
      ASSIGN_OR_RETURN(auto buffer, device->Allocate(bytes));
      runner->outputs_.push_back(std::move(buffer));
    }
    ASSIGN_OR_RETURN(auto executable, Executable::Create(device, plan, {}));
    ASSIGN_OR_RETURN(runner->timeline_, Timeline::Create(device));
    ASSIGN_OR_RETURN(runner->binding_,
                     Binding::Create(executable, runner->inputs_, runner->outputs_));
    runner->guarded_ = std::move(guarded);
    return runner;
  }

  // All outputs, the arena and the counters not among them.
  Result<std::vector<Bytes>> Run(const std::vector<Bytes>& inputs, uint32_t pattern) {
    std::vector<Bytes> inputs_before;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Bytes bytes = Pattern(pattern, inputs_[i]->bytes());
      std::copy(inputs[i].begin(), inputs[i].end(), bytes.begin() + kGuardBytes);
      TRY(Fill(*timeline_, inputs_[i], bytes));
      inputs_before.push_back(std::move(bytes));
    }
    const size_t arena = outputs_.size() - 2;
    const size_t counters = arena + 1;
    auto pattern_of = [&](size_t output) { return output == counters ? 0 : pattern; };
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TRY(Fill(*timeline_, outputs_[i], Pattern(pattern_of(i), outputs_[i]->bytes())));
    }
    TRY(timeline_->Dispatch(binding_));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      ASSIGN_OR_RETURN(Bytes after, ReadAll(*timeline_, inputs_[i]));
      TRY(CheckUntouched("input", i, inputs_before[i], after, {}));
    }
    std::vector<Bytes> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const uint64_t bytes = outputs_[i]->bytes() - 2 * kGuardBytes;
      ASSIGN_OR_RETURN(Bytes after, ReadAll(*timeline_, outputs_[i]));
      const Bytes before = Pattern(pattern_of(i), after.size());
      if (i == arena) {
        TRY(CheckUntouched("the arena", 0, before, after, guarded_.intermediates));
      } else if (i == counters) {
        TRY(CheckUntouched("the counters", 0, before, after, {}));
      } else {
        TRY(CheckUntouched("output", i, before, after, {{0, bytes}}));
        results.emplace_back(after.begin() + kGuardBytes, after.end() - kGuardBytes);
      }
    }
    return results;
  }

 private:
  GuardedPlan guarded_;
  std::vector<std::shared_ptr<Buffer>> inputs_;
  std::vector<std::shared_ptr<Buffer>> outputs_;
  std::unique_ptr<Timeline> timeline_;
  std::shared_ptr<Binding> binding_;
};

}  // namespace

Result<std::vector<Bytes>> RunGuarded(std::shared_ptr<Device> device, Plan plan,
                                      const std::vector<Bytes>& inputs,
                                      const std::vector<uint64_t>& result_bits) {
  ASSIGN_OR_RETURN(auto runner, GuardedRunner::Create(std::move(device), Guard(std::move(plan))));
  std::vector<std::vector<Bytes>> runs;
  for (uint32_t pattern : kPatterns) {
    ASSIGN_OR_RETURN(auto results, runner->Run(inputs, pattern));
    for (size_t i = 0; i < results.size(); ++i) Truncate(results[i], result_bits[i]);
    runs.push_back(std::move(results));
  }
  for (size_t i = 0; i < runs[0].size(); ++i) {
    const auto [a, b] = std::mismatch(runs[0][i].begin(), runs[0][i].end(), runs[1][i].begin());
    if (a != runs[0][i].end()) {
      return InternalError("output {} depends on what no kernel wrote (at byte {} of {})", i,
                           a - runs[0][i].begin(), runs[0][i].size());
    }
  }
  return std::move(runs[0]);
}

}  // namespace webnnd::service
