// Random graphs of one operator, through client and service, against the reference; and chains of a
// few, which must not depend on folding or on cached bindings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "tests/reference/case_maker.h"
#include "tests/reference/compare.h"
#include "tests/reference/reference.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"
#include "tests/support/service_fixture.h"
#include "webidl/operator_table.h"

namespace webnnd::reference {
namespace {

using service::HostTensor;
using webidl::OperandDataType;
using webidl::OperatorKind;

// Of the command line.
uint64_t seed = 20261;
int first_case = 0;
int cases_per_operator = static_cast<int>(service::SampleOf(12, 3));
// A hunt goes on until its time is over, whatever the number of cases. Else a run as short as its
// cases allow stops early where the machine is slow.
std::optional<double> hunt_seconds_per_operator;
constexpr double kSecondsPerOperatorMax = 0.6;  // A minute for all of them.

bool GoesOn(int next_case, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (hunt_seconds_per_operator) return spent.count() < *hunt_seconds_per_operator;
  const int done = next_case - first_case;
  return done < cases_per_operator && (done < 3 || spent.count() < kSecondsPerOperatorMax);
}

std::vector<std::byte> ToBytes(const Array& array) {
  return HostTensor::Create(array.type(), array.shape(), array.values).bytes;
}

// What one builder is made of, and run with.
class Session {
 public:
  Session(webnn::ML& ml, std::shared_ptr<webnn::Context> context)
      : ml_(ml), context_(std::move(context)), builder_(context_) {}

  webnn::GraphBuilder& builder() { return builder_; }

  Result<webnn::Operand> AddOperand(const Array& array, bool constant) {
    if (constant) return builder_.Constant(array.type(), array.shape(), ToBytes(array));
    std::string name = "input" + std::to_string(inputs_.size());
    ASSIGN_OR_RETURN(auto tensor,
                     ml_.Wait(context_->CreateTensor(
                         {.data_type = array.type(), .shape = array.shape(), .writable = true})));
    TRY(context_->WriteTensor(*tensor, ToBytes(array)));
    inputs_.emplace(name, std::move(tensor));
    return builder_.Input(name, array.type(), array.shape());
  }

  // Builds, dispatches `times` times, and reads every output.
  Result<std::vector<HostTensor>> Run(const std::vector<webnn::Operand>& outputs, int times) {
    webnn::NamedOperands named;
    for (size_t i = 0; i < outputs.size(); ++i) named.emplace(OutputName(i), outputs[i]);
    ASSIGN_OR_RETURN(auto graph, ml_.Wait(builder_.Build(named)));
    // An input that no output reaches is no input of the graph.
    std::erase_if(inputs_, [&](const auto& input) {
      return std::none_of(graph->inputs().begin(), graph->inputs().end(),
                          [&](const auto& endpoint) { return endpoint.name == input.first; });
    });
    webnn::NamedTensors tensors;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSIGN_OR_RETURN(auto tensor,
                       ml_.Wait(context_->CreateTensor({.data_type = outputs[i].data_type(),
                                                        .shape = outputs[i].shape(),
                                                        .readable = true})));
      tensors.emplace(OutputName(i), std::move(tensor));
    }
    for (int i = 0; i < times; ++i) TRY(context_->Dispatch(*graph, inputs_, tensors));
    std::vector<HostTensor> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSIGN_OR_RETURN(auto bytes, ml_.Wait(context_->ReadTensor(*tensors.at(OutputName(i)))));
      results.push_back({outputs[i].descriptor(), std::move(bytes)});
    }
    return results;
  }

 private:
  static std::string OutputName(size_t index) { return "output" + std::to_string(index); }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  webnn::GraphBuilder builder_;
  webnn::NamedTensors inputs_;
};

// The comparison itself, without which all below would pass.
TEST(Comparison, WrongElement_IsNoticed) {
  RandomCase made{OperatorKind::kSigmoid, {}, webidl::NoAttributes{}};
  std::mt19937_64 random(1);
  made.operands.emplace_back(
      MakeRandomArray(OperandDataType::kFloat32, {5}, Domain::kModerate, random));
  auto expected = Evaluate(made);
  ASSERT_TRUE(expected.ok());
  const Array& right = expected->results[0];
  const auto compare = [&](const std::vector<long double>& values) {
    return Compare(*expected, 0, Match::kValue,
                   HostTensor::Create(right.type(), right.shape(), values));
  };
  EXPECT_EQ(compare(right.values), "");
  std::vector<long double> wrong = right.values;
  wrong[3] *= 1 + 1e-6L;  // 8 ULP or more.
  EXPECT_THAT(compare(wrong), testing::StartsWith("element 3 is"));
  wrong[3] = std::numeric_limits<long double>::quiet_NaN();
  EXPECT_THAT(compare(wrong), testing::StartsWith("element 3 is"));
}

TEST(Comparison, SignOfZero_CountsWhereElementsMove) {
  RandomCase made{OperatorKind::kReshape, {}, webidl::ReshapeAttributes{{1}}};
  std::mt19937_64 random(1);
  made.operands.emplace_back(
      MakeRandomArray(OperandDataType::kFloat32, {1}, Domain::kModerate, random));
  made.operands[0]->values[0] = -0.0L;
  auto expected = Evaluate(made);
  ASSERT_TRUE(expected.ok());
  const HostTensor zero = HostTensor::Create(OperandDataType::kFloat32, {1}, {0});
  EXPECT_NE(Compare(*expected, 0, Match::kBits, zero), "");
  EXPECT_EQ(Compare(*expected, 0, Match::kValue, zero), "");
}

// --- One operator -------------------------------------------------------------------------------

class RandomOperator : public service::ServiceTest,
                       public testing::WithParamInterface<OperatorKind> {
 protected:
  Result<std::vector<HostTensor>> Run(const RandomCase& made, std::mt19937_64& random) {
    if (context_ == nullptr) context_ = MakeContext();
    Session session(ml(), context_);
    std::vector<webnn::Operand> operands;
    operands.reserve(made.operands.size());
    std::vector<const webnn::Operand*> slots;
    for (const auto& operand : made.operands) {
      slots.push_back(nullptr);
      if (!operand) continue;
      ASSIGN_OR_RETURN(webnn::Operand added,
                       session.AddOperand(*operand, /*constant=*/random() % 4 == 0));
      operands.push_back(std::move(added));
      slots.back() = &operands.back();
    }
    ASSIGN_OR_RETURN(auto outputs, session.builder().AddOperator(made.kind, slots, made.attributes,
                                                                 /*label=*/""));
    return session.Run(outputs, /*times=*/1);
  }
  static Result<std::vector<HostTensor>> RunKernels(const RandomCase& made) {
    std::vector<std::optional<HostTensor>> operands;
    for (const auto& operand : made.operands) {
      operands.emplace_back();
      if (!operand) continue;
      operands.back() = HostTensor::Create(operand->type(), operand->shape(), operand->values);
    }
    return service::RunNode(made.kind, operands, made.attributes);
  }
  void TearDown() override {
    context_ = nullptr;
    ServiceTest::TearDown();
  }

 private:
  std::shared_ptr<webnn::Context> context_;
};

TEST_P(RandomOperator, Result_IsTheReferences) {
  const Row& row = GetRow(GetParam());
  const auto start = std::chrono::steady_clock::now();
  uint64_t compared = 0;
  uint64_t undecided = 0;
  int ran = 0;
  for (int i = first_case; GoesOn(i, start); ++i) {
    // From the seed, the operator and the case alone, so that each can be run by itself.
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(GetParam()) * 1009 + i * 101);
    const RandomCase made = MakeRandomCase(GetParam(), random);
    SCOPED_TRACE(testing::Message()
                 << "--seed " << seed << " --operator " << webidl::OperatorName(GetParam())
                 << " --first-case " << i << " --cases 1: " << made.Describe());
    auto expected = Evaluate(made);
    ASSERT_TRUE(expected.ok()) << expected.error().ToString();
    // The kernels alone, between guard bands; and as a client has them run.
    for (bool kernels_alone : {true, false}) {
      SCOPED_TRACE(kernels_alone ? "kernels alone" : "through the client");
      auto results = kernels_alone ? RunKernels(made) : Run(made, random);
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      ASSERT_EQ(results->size(), expected->results.size());
      for (size_t k = 0; k < results->size(); ++k) {
        EXPECT_EQ(Compare(*expected, k, row.match, (*results)[k]), "");
      }
    }
    for (const Array& result : expected->results) {
      compared += result.size();
      undecided += CountUndecided(result);
    }
    ++ran;
    if (HasFailure()) return;
  }
  EXPECT_LE(undecided * 50, compared) << "the errors that are allowed leave too little";
  RecordProperty("cases", ran);
}

std::vector<OperatorKind> AllKinds() {
  std::vector<OperatorKind> kinds;
  for (uint32_t i = 0; i < webidl::kOperatorKindCount; ++i) {
    kinds.push_back(static_cast<OperatorKind>(i));
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, RandomOperator, testing::ValuesIn(AllKinds()), [](const auto& info) {
  return std::string(webidl::OperatorName(info.param));
});

// --- Chains -------------------------------------------------------------------------------------

class RandomChain : public service::ServiceTest {
 protected:
  // The same chain for the same `chain_seed`: operators on float32[4,6] from inputs and constants.
  Result<std::vector<HostTensor>> Run(uint64_t chain_seed, const webnn::ContextOptions& options) {
    std::mt19937_64 random(chain_seed);
    Session session(ml(), MakeContext(options));
    const webidl::Shape shape = {4, 6};
    std::vector<webnn::Operand> values;
    for (int i = 0; i < 4; ++i) {
      Array array = MakeRandomArray(OperandDataType::kFloat32, shape, Domain::kModerate, random);
      ASSIGN_OR_RETURN(webnn::Operand value, session.AddOperand(array, /*constant=*/i >= 2));
      values.push_back(std::move(value));
    }
    for (int i = 0; i < 8; ++i) {
      const webnn::Operand& a = values[random() % values.size()];
      const webnn::Operand& b = values[random() % values.size()];
      ASSIGN_OR_RETURN(webnn::Operand value, AddOne(session.builder(), random() % 8, a, b));
      values.push_back(std::move(value));
    }
    std::vector<webnn::Operand> outputs = {values.back()};
    for (size_t i = 4; i + 1 < values.size(); ++i) {
      if (random() % 3 == 0) outputs.push_back(values[i]);
    }
    return session.Run(outputs, /*times=*/3);
  }

 private:
  static Result<webnn::Operand> AddOne(webnn::GraphBuilder& builder, uint64_t choice,
                                       const webnn::Operand& a, const webnn::Operand& b) {
    switch (choice) {
      case 0:
        return builder.Add(a, b);
      case 1:
        return builder.Mul(a, b);
      case 2:
        return builder.Sub(a, b);
      case 3:
        return builder.Sigmoid(a);
      case 4:
        return builder.Identity(a);
      case 5:
        return builder.Softmax(a, 1);
      case 6: {
        ASSIGN_OR_RETURN(webnn::Operand turned, builder.Transpose(a));
        return builder.Reshape(turned, {4, 6});
      }
      default: {
        ASSIGN_OR_RETURN(std::vector<webnn::Operand> parts, builder.Split(a, 2u, {.axis = 1}));
        return builder.Concat({parts[1], parts[0]}, 1);
      }
    }
  }
};

TEST_F(RandomChain, Result_DependsOnNoPassAndNoCache) {
  for (uint64_t i = 0; i < service::SampleOf(12, 3); ++i) {
    SCOPED_TRACE(testing::Message() << "--seed " << seed << ", chain " << i);
    const uint64_t chain_seed = seed * 7919 + i;
    auto plain = Run(chain_seed, {.constant_folding = false, .binding_cache = false});
    ASSERT_TRUE(plain.ok()) << plain.error().ToString();
    for (bool folding : {false, true}) {
      for (bool cache : {false, true}) {
        auto other = Run(chain_seed, {.constant_folding = folding, .binding_cache = cache});
        ASSERT_TRUE(other.ok()) << other.error().ToString();
        ASSERT_EQ(other->size(), plain->size());
        for (size_t k = 0; k < plain->size(); ++k) {
          EXPECT_EQ((*other)[k].bytes, (*plain)[k].bytes)
              << "output " << k << ", folding " << folding << ", binding cache " << cache;
        }
      }
    }
    if (HasFailure()) return;
  }
}

}  // namespace

// Takes what GoogleTest has left.
bool TakeOptions(int argc, char** argv) {
  double minutes = 0;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string_view name = argv[i];
    const std::string_view text = argv[i + 1];
    if (name == "--operator") {
      testing::GTEST_FLAG(filter) = "*/" + std::string(text);
      continue;
    }
    uint64_t value = 0;
    auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || at != text.data() + text.size()) return false;
    if (name == "--seed") {
      seed = value;
    } else if (name == "--cases") {
      cases_per_operator = static_cast<int>(std::min<uint64_t>(value, 1000000));
    } else if (name == "--first-case") {
      first_case = static_cast<int>(std::min<uint64_t>(value, 1000000));
    } else if (name == "--minutes") {
      minutes = static_cast<double>(value);
    } else {
      return false;
    }
  }
  const bool one = testing::GTEST_FLAG(filter) != "*";
  if (minutes > 0) {
    hunt_seconds_per_operator = minutes * 60 / (one ? 1 : webidl::kOperatorKindCount);
  }
  std::printf("--seed %llu\n", static_cast<unsigned long long>(seed));
  return true;
}

}  // namespace webnnd::reference

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!webnnd::reference::TakeOptions(argc, argv)) {
    std::fprintf(
        stderr,
        "usage: %s [--seed N] [--operator NAME] [--cases N] [--first-case N] [--minutes N] "
        "[GoogleTest's options]\n",
        argv[0]);
    return 1;
  }
  return RUN_ALL_TESTS();
}
