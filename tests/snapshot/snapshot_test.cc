// Plans as reviewed files: which kernels the passes make of a graph, what they touch, and where
// they wait. A change of a pass shows here what it does to graphs that it was not made for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "service/graph/graph_assembler.h"
#include "service/passes/compile.h"
#include "service/plan/dump_plan.h"
#include "tests/snapshot/expect_snapshot.h"

namespace webnnd::service {
namespace {

using test::ExpectSnapshot;
using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// Writes a graph down operator by operator, as a client's messages do.
class GraphSketch {
 public:
  uint32_t Input(const Shape& shape) {
    uint32_t id = next_++;
    assembler_.AddInput(
        {id, "input" + std::to_string(inputs_.size()),
         ipc::WireDescriptor{OperandDataType::kFloat32, {shape.begin(), shape.end()}}});
    inputs_.push_back(id);
    return id;
  }
  uint32_t Constant(OperandDataType type, const Shape& shape) {
    return AddConstant(type, shape, nullptr);
  }
  uint32_t Scalar(float value) {
    auto bytes = std::make_shared<std::vector<std::byte>>(sizeof(value));
    std::memcpy(bytes->data(), &value, sizeof(value));
    return AddConstant(OperandDataType::kFloat32, {}, bytes);
  }
  uint32_t Add(OperatorKind kind, std::vector<uint32_t> operands,
               webidl::OperatorAttributes attributes = webidl::NoAttributes{}) {
    uint32_t id = next_++;
    std::vector<webidl::Operator> operators;
    operators.push_back({kind, std::move(operands), {id}, "", std::move(attributes)});
    assembler_.AddOperators(std::move(operators));
    return id;
  }
  // x W^T for a constant W [out, in].
  uint32_t Project(uint32_t x, uint32_t out, uint32_t in) {
    return Add(OperatorKind::kGemm, {x, Constant(OperandDataType::kFloat32, {out, in}), 0},
               webidl::GemmAttributes{.b_transpose = true});
  }

  std::string Compile(uint32_t output) && {
    auto graph = std::move(assembler_).Finish(inputs_, {{"output", output}});
    if (!graph.ok()) return graph.error().ToString();
    for (GraphConstant& constant : graph->constants) constant.bytes = values_[constant.buffer];
    auto compiled = CompileGraph(std::move(*graph), {});
    return compiled.ok() ? DumpPlan(compiled->plan) : compiled.error().ToString();
  }

 private:
  uint32_t AddConstant(OperandDataType type, const Shape& shape,
                       std::shared_ptr<const std::vector<std::byte>> bytes) {
    uint32_t id = next_++;
    auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
    CHECK(descriptor.ok());
    assembler_.AddConstant(id, *descriptor, static_cast<uint32_t>(values_.size()));
    values_.push_back(std::move(bytes));
    return id;
  }

  GraphAssembler assembler_;
  std::vector<uint32_t> inputs_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>>
      values_;  // Of constants; null: unknown.
  uint32_t next_ = 1;
};

uint32_t RmsNormalize(GraphSketch& sketch, uint32_t x, uint32_t width) {
  using enum OperatorKind;
  uint32_t squares = sketch.Add(kPow, {x, sketch.Scalar(2)});
  uint32_t mean =
      sketch.Add(kReduceMean, {squares}, webidl::ReduceAttributes{std::vector<uint32_t>{1}, true});
  uint32_t root = sketch.Add(kSqrt, {sketch.Add(kAdd, {mean, sketch.Scalar(1e-5f)})});
  uint32_t gain = sketch.Constant(OperandDataType::kFloat32, {width});
  return sketch.Add(kMul, {sketch.Add(kDiv, {x, root}), gain});
}

TEST(Snapshot, RmsNormalization) {
  GraphSketch sketch;
  uint32_t result = RmsNormalize(sketch, sketch.Input({4, 64}), 64);
  ExpectSnapshot("rms_normalization", std::move(sketch).Compile(result));
}

TEST(Snapshot, SkipRmsNormalization) {
  GraphSketch sketch;
  uint32_t sum = sketch.Add(OperatorKind::kAdd, {sketch.Input({4, 64}), sketch.Input({4, 64})});
  uint32_t normalized = RmsNormalize(sketch, sum, 64);
  uint32_t result = sketch.Add(OperatorKind::kAdd, {sum, sketch.Project(normalized, 64, 64)});
  ExpectSnapshot("skip_rms_normalization", std::move(sketch).Compile(result));
}

TEST(Snapshot, BlockMatmul) {
  GraphSketch sketch;
  using enum OperatorKind;
  uint32_t x = sketch.Input({1, 128});
  uint32_t codes = sketch.Constant(OperandDataType::kUint4, {64, 4, 32});
  uint32_t scales = sketch.Constant(OperandDataType::kFloat32, {64, 4, 1});
  uint32_t zero_points = sketch.Constant(OperandDataType::kUint4, {64, 4, 1});
  uint32_t blocks = sketch.Add(kDequantizeLinear, {codes, scales, zero_points});
  uint32_t matrix = sketch.Add(kReshape, {blocks}, webidl::ReshapeAttributes{{64, 128}});
  uint32_t transposed =
      sketch.Add(kTranspose, {matrix}, webidl::TransposeAttributes{std::vector<uint32_t>{1, 0}});
  uint32_t result = sketch.Add(kMatmul, {x, transposed});
  ExpectSnapshot("block_matmul", std::move(sketch).Compile(result));
}

TEST(Snapshot, GatedMlp) {
  GraphSketch sketch;
  using enum OperatorKind;
  uint32_t x = sketch.Input({1, 64});
  uint32_t gate = sketch.Project(x, 96, 64);
  uint32_t up = sketch.Project(x, 96, 64);
  uint32_t silu = sketch.Add(kMul, {gate, sketch.Add(kSigmoid, {gate})});
  uint32_t down = sketch.Project(sketch.Add(kMul, {silu, up}), 64, 96);
  uint32_t result = sketch.Add(kAdd, {x, down});
  ExpectSnapshot("gated_mlp", std::move(sketch).Compile(result));
}

TEST(Snapshot, SharedInput) {
  GraphSketch sketch;
  uint32_t x = sketch.Input({1, 64});
  uint32_t query = sketch.Project(x, 64, 64);
  uint32_t key = sketch.Project(x, 32, 64);
  uint32_t value = sketch.Project(x, 32, 64);
  uint32_t all =
      sketch.Add(OperatorKind::kConcat, {query, key, value}, webidl::ConcatAttributes{.axis = 1});
  ExpectSnapshot("shared_input", std::move(sketch).Compile(all));
}

}  // namespace
}  // namespace webnnd::service
