// The plans of the graphs that web frameworks emit (../shared/fusion), as reviewed files: one for
// each pattern, with a plan for each of its cases. Skips where the graphs are not there.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "client/webnn.h"
#include "ipc/messages.h"
#include "service/graph/graph_assembler.h"
#include "service/passes/compile.h"
#include "service/plan/dump_plan.h"
#include "tests/client/fake_service.h"
#include "tests/conformance/case.h"
#include "tests/conformance/case_graph.h"
#include "tests/snapshot/expect_snapshot.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {
namespace {

// Gives every folded constant a buffer and computes nothing: passes do not look at folded values.
class NamingEvaluator final : public ConstantEvaluator {
 public:
  explicit NamingEvaluator(uint32_t next_buffer) : next_buffer_(next_buffer) {}
  Result<std::vector<uint32_t>> Evaluate(const Plan& plan, const std::vector<uint32_t>&) override {
    std::vector<uint32_t> buffers(plan.output_bytes.size());
    for (uint32_t& buffer : buffers) buffer = next_buffer_++;
    return buffers;
  }

 private:
  uint32_t next_buffer_;
};

// What arrives at the service of one build, as a session would assemble it.
class AssembledBuild {
 public:
  void Take(ipc::AddInputs& message) {
    for (ipc::GraphInput& input : message.inputs) assembler_.AddInput(std::move(input));
  }
  void Take(ipc::AddConstant& message) {
    auto descriptor = webidl::OperandDescriptor::Create(message.descriptor.data_type,
                                                        message.descriptor.dimensions);
    ASSERT_TRUE(descriptor.ok());
    std::shared_ptr<const std::vector<std::byte>> bytes;
    if (auto* in = std::get_if<ipc::InlinePayload>(&message.data)) {
      bytes = std::make_shared<const std::vector<std::byte>>(std::move(in->bytes));
    }
    assembler_.AddConstant(message.operand, std::move(*descriptor),
                           static_cast<uint32_t>(values_.size()));
    values_.push_back(std::move(bytes));
  }
  void Take(ipc::AddOperators& message) { assembler_.AddOperators(std::move(message.operators)); }
  void Take(ipc::Build& message) { build_ = std::move(message); }
  template <class Other>
  void Take(Other&) {}

  bool complete() const { return build_.has_value(); }

  Result<std::string> Plan() && {
    ASSIGN_OR_RETURN(Graph graph, std::move(assembler_).Finish(build_->inputs, build_->outputs));
    for (GraphConstant& constant : graph.constants) constant.bytes = values_[constant.buffer];
    NamingEvaluator evaluator(static_cast<uint32_t>(values_.size()));
    ASSIGN_OR_RETURN(CompiledGraph compiled,
                     CompileGraph(std::move(graph), {.evaluator = &evaluator}));
    return DumpPlan(compiled.plan);
  }

 private:
  GraphAssembler assembler_;
  // Of constants that came inline; else null.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> values_;
  std::optional<ipc::Build> build_;
};

class FrameworkSnapshot : public webnn::test::ClientTest {
 protected:
  // "" where the test has failed.
  std::string PlanOf(const conformance::Case& test) {
    if (context_ == nullptr) context_ = MakeContext();
    webnn::GraphBuilder builder(context_);
    auto operands = conformance::AddCaseOperators(builder, test);
    if (!operands.ok()) return Fail(operands.error());
    webnn::NamedOperands outputs;
    for (const conformance::CaseOutput& output : test.outputs) {
      outputs.emplace(output.name, operands->at(output.name));
    }
    auto built = builder.Build(outputs);
    AssembledBuild assembled;
    while (!assembled.complete()) {
      auto message = service_.Next(5000);
      if (!message) return Fail(InternalError("the client does not send Build"));
      std::visit([&](auto& m) { assembled.Take(m); }, *message);
    }
    auto plan = std::move(assembled).Plan();
    return plan.ok() ? *plan : Fail(plan.error());
  }

 private:
  static std::string Fail(const Error& error) {
    ADD_FAILURE() << error.ToString();
    return "";
  }

  std::shared_ptr<webnn::Context> context_;
};

TEST_F(FrameworkSnapshot, FusionCases) {
  const std::string folder = WEBNND_SOURCE_DIR "/../shared/fusion";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "SKIPPED: " << folder << " is not there";
  auto files = conformance::FindCaseFiles(folder);
  ASSERT_TRUE(files.ok());
  for (const std::string& file : *files) {
    auto text = conformance::ReadFile(file);
    ASSERT_TRUE(text.ok());
    auto cases = conformance::ParseCases(*text);
    ASSERT_TRUE(cases.ok());
    std::string plans;
    for (const conformance::LoadedCase& loaded : *cases) {
      ASSERT_FALSE(loaded.error) << loaded.error->ToString();
      SCOPED_TRACE(loaded.value.name);
      if (!plans.empty()) plans += "\n";
      plans += loaded.value.name + "\n" + PlanOf(loaded.value);
    }
    test::ExpectSnapshot("fusion/" + std::filesystem::path(file).stem().string(), plans);
  }
}

}  // namespace
}  // namespace webnnd::service
