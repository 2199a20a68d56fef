#include "service/passes/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>

namespace webnnd::service {
namespace {

// A graph of values and calls without any meaning: what the planner sees.
class PlanBuilder {
 public:
  ValueId Input(uint32_t floats) {
    auto index = static_cast<uint32_t>(graph_.inputs.size());
    graph_.inputs.push_back({"i" + std::to_string(index), Add(Value::Kind::kInput, floats, index)});
    return graph_.inputs.back().value;
  }
  ValueId Constant(uint32_t floats, uint32_t buffer) {
    auto index = static_cast<uint32_t>(graph_.constants.size());
    ValueId value = Add(Value::Kind::kConstant, floats, index);
    graph_.constants.push_back({graph_.values[value].descriptor, buffer, nullptr});
    return value;
  }
  ValueId Result(uint32_t floats) { return Add(Value::Kind::kResult, floats, 0); }
  // A call that reads `operands` and writes a new value.
  ValueId Call(std::vector<ValueId> operands, uint32_t floats) {
    ValueId result = Result(floats);
    LoweredCall call;
    for (ValueId operand : operands) call.buffers.push_back({operand, false});
    call.buffers.push_back({result, true});
    lowered_.AddCall(std::move(call));
    return result;
  }
  ValueId Alias(ValueId source) {
    uint32_t floats = graph_.values[source].descriptor.shape()[0];
    ValueId result = Result(floats);
    lowered_.AddAlias(result, source);
    return result;
  }
  // A call that overwrites a part of `source`, which reads `operands`.
  ValueId Update(ValueId source, std::vector<ValueId> operands) {
    ValueId result = Result(graph_.values[source].descriptor.shape()[0]);
    lowered_.AddUpdate(result, source);
    LoweredCall call;
    for (ValueId operand : operands) call.buffers.push_back({operand, false});
    call.buffers.push_back({result, true});
    lowered_.AddCall(std::move(call));
    return result;
  }
  void AliasTensors(uint32_t input, uint32_t output) { aliases_.push_back({input, output}); }
  const std::vector<TensorAlias>& tensor_aliases() const { return aliases_; }
  void Output(ValueId value) {
    graph_.outputs.push_back({"o" + std::to_string(graph_.outputs.size()), value});
  }
  CompiledGraph Plan() {
    auto compiled = PlanMemory(graph_, lowered_, {.aliases = aliases_});
    EXPECT_TRUE(compiled.ok()) << compiled.error().ToString();
    return std::move(*compiled);
  }
  const Graph& graph() const { return graph_; }
  LoweringBuilder& lowered() { return lowered_; }

 private:
  ValueId Add(Value::Kind kind, uint32_t floats, uint32_t index) {
    auto descriptor = webidl::OperandDescriptor::Create(webidl::OperandDataType::kFloat32,
                                                        std::span<const uint32_t>(&floats, 1));
    graph_.values.push_back({kind, *descriptor, index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  Graph graph_;
  LoweringBuilder lowered_{graph_};
  std::vector<TensorAlias> aliases_;
};

// Runs a plan on memory whose words hold the value that was written there, and nothing where
// nothing was: a read of anything else than the value meant is a fault. So what the arena holds at
// first, NaN or another's bytes, can change nothing.
class Simulation {
 public:
  Simulation(const PlanBuilder& builder, const std::vector<LoweredCall>& calls,
             const std::vector<LoweringBuilder::Alias>& aliases,
             const std::vector<LoweringBuilder::Alias>& updates, const CompiledGraph& compiled)
      : graph_(builder.graph()),
        calls_(calls),
        updates_(updates),
        tensor_aliases_(builder.tensor_aliases()),
        plan_(compiled.plan) {
    std::map<uint32_t, ValueId> first_of_buffer;
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      root_.push_back(value);
      if (graph_.values[value].kind != Value::Kind::kConstant) continue;
      uint32_t buffer = graph_.constants[graph_.values[value].index].buffer;
      root_.back() = first_of_buffer.try_emplace(buffer, value).first->second;
    }
    for (const auto& alias : aliases) root_[alias.result] = root_[alias.source];
    for (const Graph::Input& input : graph_.inputs) {
      Fill({BufferSpace::kInput, graph_.values[input.value].index, 0, Bytes(input.value)},
           input.value);
    }
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      if (graph_.values[value].kind != Value::Kind::kConstant) continue;
      uint32_t buffer = graph_.constants[graph_.values[value].index].buffer;
      auto place =
          std::find(compiled.constant_buffers.begin(), compiled.constant_buffers.end(), buffer);
      if (place == compiled.constant_buffers.end()) continue;
      auto index = static_cast<uint32_t>(place - compiled.constant_buffers.begin());
      Fill({BufferSpace::kConstant, index, 0, Bytes(value)}, root_[value]);
    }
  }

  void Run() {
    size_t at = 0;  // In the plan, which may have copies between the calls.
    while (at < plan_.calls.size() && plan_.calls[at].label == "keep") RunCopy(at++);
    auto update = updates_.begin();
    for (size_t i = 0; i < calls_.size(); ++i, ++at) {
      for (; update != updates_.end() && update->call_index == i; ++update) {
        RunUpdate(*update, at);
      }
      const KernelCall& call = plan_.calls[at];
      ASSERT_EQ(call.buffers.size(), calls_[i].buffers.size());
      CheckBarrier(at);
      for (bool writes : {false, true}) {
        for (size_t b = 0; b < call.buffers.size(); ++b) {
          if (call.buffers[b].written != writes) continue;
          ValueId value = root_[calls_[i].buffers[b].value];
          writes ? Fill(call.buffers[b], value) : Expect(call.buffers[b], value, at);
        }
      }
    }
    EXPECT_EQ(plan_.calls.size() - calls_.size(), plan_.copy_count);
    // The copies of outputs that could not be written in place.
    for (; at < plan_.calls.size(); ++at) {
      const KernelCall& copy = plan_.calls[at];
      RunCopy(at);
      ValueId value = root_[graph_.outputs[copy.buffers[1].index].value];
      Expect(copy.buffers[1], value, at);
    }
    for (uint32_t i = 0; i < graph_.outputs.size(); ++i) {
      ValueId value = graph_.outputs[i].value;
      Expect({BufferSpace::kOutput, i, 0, Bytes(value)}, root_[value], plan_.calls.size());
    }
  }

 private:
  using Word = std::tuple<BufferSpace, uint32_t, uint64_t>;

  bool IsCopy(size_t at) const { return plan_.calls[at].label == "copy"; }

  // Copies whatever value is there.
  void RunCopy(size_t at) {
    const KernelCall& copy = plan_.calls[at];
    ASSERT_EQ(copy.buffers.size(), 2u);
    ASSERT_TRUE(copy.buffers[1].written);
    CheckBarrier(at);
    ASSERT_TRUE(memory_.contains(WordAt(copy.buffers[0], 0)));
    ValueId value = memory_[WordAt(copy.buffers[0], 0)];
    Expect(copy.buffers[0], value, at);
    Fill(copy.buffers[1], value);
  }

  // From here on the result is in its place: that of a copy of the source, or the source's own, and
  // then the source is nowhere any more.
  void RunUpdate(const LoweringBuilder::Alias& update, size_t& at) {
    const ValueId source = root_[update.source];
    const ValueId result = root_[update.result];
    const bool copied = IsCopy(at) && memory_[WordAt(plan_.calls[at].buffers[0], 0)] == source;
    if (copied) {
      RunCopy(at);
      Fill(plan_.calls[at++].buffers[1], result);
      return;
    }
    // In the tests, the next call is the one that overwrites a part.
    const BufferRef& place = plan_.calls[at].buffers.back();
    Expect(place, source, at);
    Fill(place, result);
  }

  uint64_t Bytes(ValueId value) const { return graph_.values[value].descriptor.byte_length(); }

  // One tensor is one memory, whatever it is bound as.
  Word WordAt(const BufferRef& place, uint64_t at) const {
    for (const TensorAlias& alias : tensor_aliases_) {
      if (place.space == BufferSpace::kInput && place.index == alias.input) {
        return {BufferSpace::kOutput, alias.output, place.offset + at};
      }
    }
    return {place.space, place.index, place.offset + at};
  }

  void Fill(const BufferRef& place, ValueId value) {
    EXPECT_EQ(place.offset % kBufferAlignment, 0u);
    if (place.space == BufferSpace::kArena) {
      EXPECT_LE(place.offset + place.bytes, plan_.arena_bytes);
    }
    for (uint64_t at = 0; at < place.bytes; at += 4) {
      memory_[WordAt(place, at)] = value;
    }
  }

  void Expect(const BufferRef& place, ValueId value, size_t call) {
    for (uint64_t at = 0; at < place.bytes; at += 4) {
      auto word = memory_.find(WordAt(place, at));
      ASSERT_TRUE(word != memory_.end() && word->second == value)
          << "call " << call << " reads value " << value << " where it is not";
    }
  }

  // No call since the last barrier touches memory that this one writes, nor the reverse.
  void CheckBarrier(size_t call) {
    for (size_t earlier = call; earlier-- > 0 && !plan_.calls[earlier + 1].barrier_before;) {
      for (const BufferRef& a : plan_.calls[earlier].buffers) {
        for (const BufferRef& b : plan_.calls[call].buffers) {
          bool apart = a.space != b.space || a.index != b.index || a.offset + a.bytes <= b.offset ||
                       b.offset + b.bytes <= a.offset;
          EXPECT_TRUE(apart || (!a.written && !b.written))
              << "calls " << earlier << " and " << call << " need a barrier";
        }
      }
    }
  }

  const Graph& graph_;
  const std::vector<LoweredCall>& calls_;
  const std::vector<LoweringBuilder::Alias>& updates_;
  const std::vector<TensorAlias>& tensor_aliases_;
  const Plan& plan_;
  std::vector<ValueId> root_;
  std::map<Word, ValueId> memory_;
};

CompiledGraph PlanAndSimulate(PlanBuilder& builder) {
  auto calls = builder.lowered().calls();
  auto aliases = builder.lowered().aliases();
  auto updates = builder.lowered().updates();
  CompiledGraph compiled = builder.Plan();
  Simulation(builder, calls, aliases, updates, compiled).Run();
  return compiled;
}

// Gives each output, with some chance, the tensor of an input of its size.
void AliasRandomTensors(PlanBuilder& builder, std::mt19937& random) {
  const Graph& graph = builder.graph();
  std::vector<bool> taken(graph.inputs.size());
  for (uint32_t output = 0; output < graph.outputs.size(); ++output) {
    for (uint32_t input = 0; input < graph.inputs.size(); ++input) {
      const bool fits = graph.values[graph.inputs[input].value].descriptor ==
                        graph.values[graph.outputs[output].value].descriptor;
      if (!fits || taken[input] || random() % 3 == 0) continue;
      taken[input] = true;
      builder.AliasTensors(input, output);
      break;
    }
  }
}

TEST(MemoryPlan, Chain_ReusesTheArenaAndWritesTheOutputInPlace) {
  PlanBuilder builder;
  ValueId value = builder.Input(64);
  for (int i = 0; i < 10; ++i) value = builder.Call({value}, 64);
  builder.Output(value);
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 10u);
  EXPECT_EQ(compiled.plan.arena_bytes, 2u * 256);
  EXPECT_EQ(compiled.plan.calls.back().buffers[1],
            (BufferRef{BufferSpace::kOutput, 0, 0, 256, true}));
  EXPECT_EQ(compiled.plan.input_bytes, std::vector<uint64_t>{256});
  EXPECT_EQ(compiled.plan.output_bytes, std::vector<uint64_t>{256});
}

TEST(MemoryPlan, IndependentCalls_NeedNoBarrier) {
  PlanBuilder builder;
  ValueId input = builder.Input(8);
  ValueId a = builder.Call({input}, 8);
  ValueId b = builder.Call({input}, 8);
  builder.Output(builder.Call({a, b}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_FALSE(compiled.plan.calls[0].barrier_before);
  EXPECT_FALSE(compiled.plan.calls[1].barrier_before);
  EXPECT_TRUE(compiled.plan.calls[2].barrier_before);
}

TEST(MemoryPlan, Alias_TakesNoCallAndNoMemory) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId view = builder.Alias(builder.Alias(a));
  builder.Output(builder.Call({view, a}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 2u);
  EXPECT_EQ(compiled.plan.arena_bytes, 32u);
}

TEST(MemoryPlan, AliasKeepsItsSourceAlive) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId view = builder.Alias(a);
  ValueId other = builder.Call({a}, 8);
  for (int i = 0; i < 5; ++i) other = builder.Call({other}, 8);
  builder.Output(builder.Call({view, other}, 8));
  PlanAndSimulate(builder);
}

TEST(MemoryPlan, OutputThatAliasesAnInput_IsCopied) {
  PlanBuilder builder;
  builder.Output(builder.Alias(builder.Input(8)));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 1u);
  EXPECT_EQ(compiled.plan.calls[0].buffers[0].space, BufferSpace::kInput);
}

TEST(MemoryPlan, Counters_AreOfOneCallEach) {
  PlanBuilder builder;
  const ValueId input = builder.Input(8);
  for (uint32_t count : {3u, 70u, 1u}) {
    auto counters = builder.lowered().AddCounters(count);
    ASSERT_TRUE(counters.ok());
    builder.Output(builder.Call({input}, 8));
    builder.lowered().calls().back().buffers.push_back({*counters, true});
  }
  const Plan plan = builder.Plan().plan;
  EXPECT_EQ(plan.counter_bytes, 256u + 512 + 256);
  EXPECT_EQ(plan.arena_bytes, 0u);
  const BufferRef places[] = {{BufferSpace::kCounters, 0, 0, 12, true},
                              {BufferSpace::kCounters, 0, 256, 280, true},
                              {BufferSpace::kCounters, 0, 768, 4, true}};
  for (size_t i = 0; i < std::size(places); ++i) {
    EXPECT_EQ(plan.calls[i].buffers.back(), places[i]);
    EXPECT_FALSE(plan.calls[i].barrier_before);
  }
}

TEST(MemoryPlan, OutputThatIsAConstant_IsCopied) {
  PlanBuilder builder;
  ValueId constant = builder.Constant(8, /*buffer=*/5);
  builder.Output(builder.Alias(constant));
  builder.Output(builder.Alias(constant));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 2u);
  EXPECT_EQ(compiled.constant_buffers, std::vector<uint32_t>{5});
}

TEST(MemoryPlan, TwoOutputsOfOneValue_GetACopyEach) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  builder.Output(a);
  builder.Output(builder.Alias(a));
  builder.Output(builder.Call({a}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 4u - 1u);
  EXPECT_EQ(compiled.plan.copy_count, 1u);
  EXPECT_EQ(compiled.plan.arena_bytes, 0u);
}

TEST(MemoryPlan, OutputThatIsReadLater_StaysInPlace) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  builder.Output(a);
  builder.Output(builder.Call({builder.Call({a}, 8), a}, 8));
  PlanAndSimulate(builder);
}

TEST(MemoryPlan, ConstantsWithOneBuffer_AreOne) {
  PlanBuilder builder;
  ValueId a = builder.Constant(8, 3);
  ValueId b = builder.Constant(8, 3);
  ValueId unused = builder.Constant(8, 4);
  (void)unused;
  builder.Output(builder.Call({a, b}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.constant_buffers, std::vector<uint32_t>{3});
  EXPECT_EQ(compiled.plan.constant_bytes, std::vector<uint64_t>{32});
}

TEST(MemoryPlan, ResultThatNothingReads_StillHasAPlace) {
  PlanBuilder builder;
  ValueId input = builder.Input(8);
  builder.Call({input}, 1000);  // As the half of a split that nobody wants.
  builder.Output(builder.Call({input}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_GE(compiled.plan.arena_bytes, 4000u);
}

// A chain of `length` calls, whose k-th value has `floats(k)`.
CompiledGraph PlanChain(int length, const std::function<uint32_t(int)>& floats) {
  PlanBuilder builder;
  ValueId value = builder.Input(64);
  for (int k = 0; k < length; ++k) value = builder.Call({value}, floats(k));
  builder.Output(value);
  return PlanAndSimulate(builder);
}

TEST(MemoryPlan, LongChain_TakesTwoIntermediates) {
  CompiledGraph compiled = PlanChain(2000, [](int) { return 64u; });
  EXPECT_EQ(compiled.plan.arena_bytes, 2u * 256);
}

TEST(MemoryPlan, LongChainOfMixedSizes_TakesThreeOfTheLargestAtMost) {
  constexpr uint32_t kFloatsMax = 1024;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    CompiledGraph compiled =
        PlanChain(2000, [&](int) { return static_cast<uint32_t>(1 + random() % kFloatsMax); });
    EXPECT_LE(compiled.plan.arena_bytes, 3 * kFloatsMax * sizeof(float));
  }
}

TEST(MemoryPlan, LongChainWithResidualAdds_TakesThreeIntermediates) {
  PlanBuilder builder;
  ValueId value = builder.Call({builder.Input(64)}, 64);
  for (int k = 0; k < 500; ++k) {
    ValueId inner = value;
    for (int step = 0; step < 3; ++step) inner = builder.Call({inner}, 64);
    value = builder.Call({value, inner}, 64);
  }
  builder.Output(value);
  EXPECT_EQ(PlanAndSimulate(builder).plan.arena_bytes, 3u * 256);
}

// More values alive at once than the planner compares with each other.
TEST(MemoryPlan, VeryManyValuesAliveAtOnce_ArePlacedWithoutTheirSquare) {
  constexpr size_t kValues = 100'000;
  PlanBuilder builder;
  ValueId input = builder.Input(1);
  std::vector<ValueId> values;
  for (size_t i = 0; i < kValues; ++i) values.push_back(builder.Call({input}, 1));
  ValueId sum = values.back();
  for (size_t i = kValues - 1; i-- > 0;) sum = builder.Call({sum, values[i]}, 1);
  builder.Output(sum);
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_GE(compiled.plan.arena_bytes, (kValues - 1) * kBufferAlignment);
  EXPECT_LE(compiled.plan.arena_bytes, 2 * kValues * kBufferAlignment);
}

TEST(MemoryPlan, UpdateOfWhatNobodyNeeds_IsInPlace) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId b = builder.Update(a, {});
  builder.Output(builder.Call({builder.Update(b, {})}, 8));
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 4u);
  EXPECT_EQ(compiled.plan.arena_bytes, 32u);
}

TEST(MemoryPlan, UpdateOfWhatIsReadLater_GetsACopy) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId b = builder.Update(a, {});
  builder.Output(builder.Call({a, b}, 8));
  EXPECT_EQ(PlanAndSimulate(builder).plan.calls.size(), 4u);
}

TEST(MemoryPlan, UpdateOfWhatIsReadThroughAView_GetsACopy) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId view = builder.Alias(a);
  ValueId b = builder.Update(a, {});
  builder.Output(builder.Call({view, b}, 8));
  EXPECT_EQ(PlanAndSimulate(builder).plan.calls.size(), 4u);
}

TEST(MemoryPlan, UpdatesOfOneValue_GetACopyEach) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  ValueId b = builder.Update(a, {});
  ValueId c = builder.Update(a, {});
  builder.Output(builder.Call({b, c}, 8));
  EXPECT_EQ(PlanAndSimulate(builder).plan.calls.size(), 6u);
}

TEST(MemoryPlan, UpdateOfAnOutput_GetsACopy) {
  PlanBuilder builder;
  ValueId a = builder.Call({builder.Input(8)}, 8);
  builder.Output(a);
  builder.Output(builder.Update(a, {}));
  EXPECT_EQ(PlanAndSimulate(builder).plan.calls.size(), 3u);
}

TEST(MemoryPlan, UpdateOfAnInputOrAConstant_GetsACopy) {
  PlanBuilder builder;
  builder.Output(builder.Update(builder.Input(8), {}));
  builder.Output(builder.Update(builder.Constant(8, 1), {}));
  EXPECT_EQ(PlanAndSimulate(builder).plan.calls.size(), 4u);
}

TEST(MemoryPlan, UpdateOfAnInputThatIsTheOutputsTensor_IsInPlace) {
  PlanBuilder builder;
  ValueId past = builder.Input(8);
  ValueId present = builder.Update(builder.Alias(past), {builder.Call({past}, 8)});
  builder.Output(builder.Call({present}, 8));
  builder.Output(builder.Alias(builder.Update(present, {})));
  builder.AliasTensors(0, 1);
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.calls.size(), 4u);
  EXPECT_EQ(compiled.plan.copy_count, 0u);
}

TEST(MemoryPlan, UpdateOfAnAliasedInputThatIsReadLater_KeepsTheOldValue) {
  PlanBuilder builder;
  ValueId past = builder.Input(8);
  ValueId present = builder.Update(past, {});
  builder.Output(present);
  builder.Output(builder.Call({past, present}, 8));
  builder.AliasTensors(0, 0);
  EXPECT_GT(PlanAndSimulate(builder).plan.calls.size(), 2u);
}

TEST(MemoryPlan, AliasedOutputWrittenBeforeItsInputIsRead_IsWrittenAtTheEnd) {
  PlanBuilder builder;
  ValueId a = builder.Input(8);
  ValueId b = builder.Input(8);
  ValueId early = builder.Call({b}, 8);
  builder.Output(early);
  builder.Output(builder.Call({a, early}, 8));
  builder.AliasTensors(0, 0);
  CompiledGraph compiled = PlanAndSimulate(builder);
  EXPECT_EQ(compiled.plan.copy_count, 1u);
}

TEST(MemoryPlan, AliasedInputWhoseFirstUpdateIsAnotherOutput_IsNotOverwritten) {
  PlanBuilder builder;
  ValueId first = builder.Update(builder.Input(8), {});
  builder.Output(builder.Update(first, {}));
  builder.Output(first);
  builder.AliasTensors(0, 0);
  PlanAndSimulate(builder);
}

TEST(MemoryPlan, TensorsThatSwapTheirValues_KeepThem) {
  PlanBuilder builder;
  ValueId a = builder.Input(8);
  ValueId b = builder.Input(8);
  builder.Output(builder.Alias(b));
  builder.Output(builder.Alias(a));
  builder.AliasTensors(0, 0);
  builder.AliasTensors(1, 1);
  PlanAndSimulate(builder);
}

TEST(MemoryPlan, TensorThatStaysWhatItIs_TakesNoCall) {
  PlanBuilder builder;
  builder.Output(builder.Alias(builder.Input(8)));
  builder.AliasTensors(0, 0);
  EXPECT_TRUE(PlanAndSimulate(builder).plan.calls.empty());
}

TEST(MemoryPlan, RandomGraphs_ReadWhatWasWritten) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    auto below = [&](size_t bound) { return static_cast<uint32_t>(random() % bound); };
    PlanBuilder builder;
    std::vector<ValueId> values;
    std::vector<ValueId> results;
    // Few sizes, so that tensors can be one.
    uint32_t sizes[] = {1 + below(200), 1 + below(200)};
    const uint32_t inputs = 1 + below(3);
    for (uint32_t i = 0; i < inputs; ++i) values.push_back(builder.Input(sizes[below(2)]));
    for (uint32_t i = 0; i < below(3); ++i) {
      values.push_back(builder.Constant(1 + below(200), below(2) + 10 * i));
    }
    for (uint32_t i = 0; i < 2 + below(30); ++i) {
      ValueId value = kNoValue;
      if (below(4) == 0) {
        value = builder.Alias(values[below(values.size())]);
      } else if (below(3) == 0) {
        value = builder.Update(values[below(values.size())], {values[below(values.size())]});
      } else {
        std::vector<ValueId> operands;
        // Mostly recent ones, so that lives end.
        for (uint32_t k = 0; k <= below(3); ++k) {
          size_t back = std::min<size_t>(values.size(), 1 + below(6));
          operands.push_back(values[values.size() - back]);
        }
        value = builder.Call(operands, below(2) == 0 ? sizes[below(2)] : 1 + below(300));
      }
      values.push_back(value);
      results.push_back(value);
    }
    builder.Output(results.back());
    for (uint32_t i = 0; i < below(4); ++i) builder.Output(results[below(results.size())]);
    AliasRandomTensors(builder, random);
    PlanAndSimulate(builder);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace webnnd::service
