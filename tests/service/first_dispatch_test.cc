// The first dispatch of a graph compiles nothing: the build has done that. llvmpipe compiles to
// memory that it maps for execution, which is how it is seen here; drivers that compile when a
// pipeline is made pass by themselves.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "service/passes/compile.h"
#include "service/vulkan/device.h"
#include "tests/support/kernel_runner.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;

// Mappings of memory that may be executed and is of no file.
std::set<std::string> CompiledCode() {
  std::set<std::string> mappings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "address permissions offset device inode path"
    const bool is_code = line.find("r-xp 00000000 00:00 0") != std::string::npos;
    if (is_code && line.find('[') == std::string::npos) mappings.insert(line);
  }
  return mappings;
}

class FirstDispatchTest : public testing::Test {
 protected:
  ValueId Add(Value::Kind kind, OperandDataType type, const Shape& shape, uint32_t index) {
    auto descriptor = OperandDescriptor::Create(type, shape);
    CHECK(descriptor.ok());
    graph_.values.push_back({kind, *descriptor, index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId Input(const Shape& shape, OperandDataType type = kFloat) {
    const auto index = static_cast<uint32_t>(graph_.inputs.size());
    const ValueId value = Add(Value::Kind::kInput, type, shape, index);
    graph_.inputs.push_back({"x" + std::to_string(index), value});
    return value;
  }
  void Result(ValueId value) {
    graph_.outputs.push_back({"y" + std::to_string(graph_.outputs.size()), value});
  }
  // An operator of the draft.
  void AddNode(OperatorKind kind, std::vector<ValueId> operands,
               webidl::OperatorAttributes attributes = webidl::NoAttributes{}) {
    std::vector<const OperandDescriptor*> descriptors;
    for (ValueId value : operands) {
      descriptors.push_back(value == kNoValue ? nullptr : &graph_.values[value].descriptor);
    }
    auto inferred = webidl::InferOperator(kind, descriptors, attributes, "");
    ASSERT_TRUE(inferred.ok()) << inferred.error().ToString();
    Node node{kind, std::move(operands), {}, "", std::move(attributes), {}};
    for (const OperandDescriptor& descriptor : *inferred) {
      node.results.push_back(static_cast<ValueId>(graph_.values.size()));
      graph_.values.push_back({Value::Kind::kResult, descriptor, 0});
      Result(node.results.back());
    }
    graph_.nodes.push_back(std::move(node));
  }
  // A product of `rows` rows with weights by block.
  void AddBlockMatmul(uint32_t rows, uint32_t columns, OperandDataType weights) {
    Node node;
    node.kind = OperatorKind::kMatmul;
    node.macro = BlockMatmul{};
    node.operands = {Input({rows, 96}), Input({columns, 3, 32}, weights), Input({columns, 3, 1}),
                     Input({columns, 3, 1}, weights)};
    node.results = {Add(Value::Kind::kResult, kFloat, {rows, columns}, 0)};
    Result(node.results[0]);
    graph_.nodes.push_back(std::move(node));
  }

  void ExpectNothingCompiled() {
    const std::shared_ptr<Device> device = TestDevice();
    auto compiled = CompileGraph(std::move(graph_), {.fusion = false});
    graph_ = {};
    ASSERT_TRUE(compiled.ok()) << compiled.error().ToString();
    std::vector<std::shared_ptr<Buffer>> inputs = Allocate(*device, compiled->plan.input_bytes);
    std::vector<std::shared_ptr<Buffer>> outputs = Allocate(*device, compiled->plan.output_bytes);
    auto timeline = Timeline::Create(device);
    ASSERT_TRUE(timeline.ok());
    for (const auto& input : inputs) ASSERT_TRUE((*timeline)->Clear(input).ok());
    ASSERT_TRUE((*timeline)->WaitIdle().ok());
    const std::set<std::string> at_first = CompiledCode();
    auto executable = Executable::Create(device, std::move(compiled->plan), {});
    ASSERT_TRUE(executable.ok()) << executable.error().ToString();
    const std::set<std::string> built = CompiledCode();
    built_some_ = built_some_ || built != at_first;
    auto binding = Binding::Create(*executable, inputs, outputs);
    ASSERT_TRUE(binding.ok()) << binding.error().ToString();
    ASSERT_TRUE((*timeline)->Dispatch(*binding).ok());
    ASSERT_TRUE((*timeline)->WaitIdle().ok());
    EXPECT_EQ(CompiledCode(), built);
  }

  void TearDown() override {
    const bool is_software = TestDevice()->adapter().name.find("llvmpipe") != std::string::npos;
    // Otherwise there is nothing that this test could see.
    if (is_software) {
      EXPECT_TRUE(built_some_);
    }
  }

  static std::vector<std::shared_ptr<Buffer>> Allocate(Device& device,
                                                       const std::vector<uint64_t>& bytes) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (uint64_t size : bytes) {
      auto buffer = device.Allocate(size);
      CHECK(buffer.ok());
      buffers.push_back(std::move(*buffer));
    }
    return buffers;
  }

  Graph graph_;
  bool built_some_ = false;
};

TEST_F(FirstDispatchTest, OfProductsByBlock_CompilesNothing) {
  for (uint32_t rows : {1u, 8u}) {
    SCOPED_TRACE(rows);
    AddBlockMatmul(rows, 40, OperandDataType::kUint4);
    ExpectNothingCompiled();
    AddBlockMatmul(rows, 40, OperandDataType::kUint8);
    ExpectNothingCompiled();
  }
}

TEST_F(FirstDispatchTest, OfProducts_CompilesNothing) {
  for (uint32_t rows : {1u, 8u, 64u}) {
    SCOPED_TRACE(rows);
    AddNode(OperatorKind::kMatmul, {Input({rows, 96}), Input({96, 80})});
    ExpectNothingCompiled();
    AddNode(OperatorKind::kGemm, {Input({rows, 96}), Input({80, 96}), kNoValue},
            webidl::GemmAttributes{.b_transpose = true});
    ExpectNothingCompiled();
  }
}

TEST_F(FirstDispatchTest, OfOperatorsWithLoops_CompilesNothing) {
  AddNode(OperatorKind::kSoftmax, {Input({4, 100})}, webidl::SoftmaxAttributes{.axis = 1});
  ExpectNothingCompiled();
  AddNode(OperatorKind::kCumulativeSum, {Input({4, 100})},
          webidl::CumulativeSumAttributes{.axis = 1});
  ExpectNothingCompiled();
  AddNode(OperatorKind::kConv2d, {Input({1, 3, 9, 9}), Input({5, 3, 3, 3}), kNoValue},
          webidl::Conv2dAttributes{});
  ExpectNothingCompiled();
}

}  // namespace
}  // namespace webnnd::service
