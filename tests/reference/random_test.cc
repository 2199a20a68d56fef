// Random graphs of one operator, through client and service, against the reference; and chains of a
// few, which must not depend on folding or on cached bindings.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "tests/reference/random_case.h"
#include "tests/reference/reference.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"
#include "webidl/operator_table.h"

namespace webnnd::reference {
namespace {

using service::HostTensor;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;

// --seed and --cases of the command line.
uint64_t seed = 20261;
int cases_per_operator = 12;

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

// The distance allowed from an element of the reference.
long double Allowed(const RandomCase& made, const Array& expected, uint64_t i) {
  const double ulps = GetRow(made.kind).ulps;
  if (!IsFloat(expected.type())) return made.kind == OperatorKind::kQuantizeLinear ? ulps : 0;
  if (ulps == 0) return 0;
  const bool half = expected.type() == OperandDataType::kFloat16;
  const long double magnitude = std::max(std::fabs(expected.values[i]),
                                         expected.magnitudes.empty() ? 0 : expected.magnitudes[i]);
  // Numbers below the least normal one may be flushed to 0.
  return ulps * std::ldexp(magnitude, half ? -10 : -23) + std::ldexp(1.0L, half ? -14 : -126);
}

void ExpectClose(const RandomCase& made, const Array& expected, const HostTensor& actual) {
  ASSERT_EQ(actual.descriptor, expected.descriptor);
  const std::vector<long double> values = actual.Values();
  for (uint64_t i = 0; i < values.size(); ++i) {
    const long double wanted = RoundTo(expected.type(), expected.values[i]);
    if (std::isnan(wanted) && std::isnan(values[i])) continue;
    if (values[i] == wanted) continue;
    if (std::fabs(values[i] - expected.values[i]) <= Allowed(made, expected, i)) continue;
    ADD_FAILURE() << "element " << i << " is " << values[i] << " and not " << wanted << " (at most "
                  << Allowed(made, expected, i) << " off)";
    return;
  }
}

std::vector<Array> Evaluate(const RandomCase& made) {
  std::vector<const Array*> operands;
  std::vector<const OperandDescriptor*> descriptors;
  for (const auto& operand : made.operands) {
    operands.push_back(operand ? &*operand : nullptr);
    descriptors.push_back(operand ? &operand->descriptor : nullptr);
  }
  auto inferred = webidl::InferOperator(made.kind, descriptors, made.attributes, "");
  EXPECT_TRUE(inferred.ok()) << inferred.error().ToString();
  if (!inferred.ok()) return {};
  std::vector<Array> results;
  for (const OperandDescriptor& descriptor : *inferred) {
    results.push_back({descriptor, std::vector<long double>(descriptor.element_count()), {}});
  }
  GetRow(made.kind).evaluate({made.kind, operands, made.attributes}, results);
  return results;
}

// The comparison itself, without which all below would pass.
TEST(Comparison, WrongElement_IsNoticed) {
  std::mt19937_64 random(1);
  RandomCase made{OperatorKind::kAdd, {}, webidl::NoAttributes{}};
  Array expected = MakeRandomArray(OperandDataType::kFloat32, {5}, Domain::kModerate, random);
  HostTensor actual = HostTensor::Create(expected.type(), expected.shape(), expected.values);
  ExpectClose(made, expected, actual);
  expected.values[3] *= 1 + 1e-5L;
  EXPECT_NONFATAL_FAILURE(ExpectClose(made, expected, actual), "element 3 is");
  expected.values[3] = std::numeric_limits<long double>::quiet_NaN();
  EXPECT_NONFATAL_FAILURE(ExpectClose(made, expected, actual), "element 3 is");
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
  void TearDown() override {
    context_ = nullptr;
    ServiceTest::TearDown();
  }

 private:
  std::shared_ptr<webnn::Context> context_;
};

TEST_P(RandomOperator, Result_IsTheReferences) {
  int ran = 0;
  for (int i = 0; i < cases_per_operator; ++i) {
    // From the seed, the operator and the case alone, so that each can be run by itself.
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(GetParam()) * 1009 + i);
    RandomCase made = MakeRandomCase(GetParam(), random);
    SCOPED_TRACE(testing::Message()
                 << "--seed " << seed << ", case " << i << ": " << made.Describe());
    auto results = Run(made, random);
    if (!results.ok() && results.error().cause() == Cause::kNotSupported) continue;
    ASSERT_TRUE(results.ok()) << results.error().ToString();
    ++ran;
    std::vector<Array> expected = Evaluate(made);
    ASSERT_EQ(results->size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) ExpectClose(made, expected[k], (*results)[k]);
    if (HasFailure()) return;
  }
  EXPECT_GT(ran, 0) << "no case is supported";
}

std::vector<OperatorKind> KindsWithReference() {
  std::vector<OperatorKind> kinds;
  for (uint32_t i = 0; i < webidl::kOperatorKindCount; ++i) {
    auto kind = static_cast<OperatorKind>(i);
    if (GetRow(kind).evaluate != nullptr) kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, RandomOperator, testing::ValuesIn(KindsWithReference()),
                         [](const auto& info) {
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
  for (uint64_t i = 0; i < 12; ++i) {
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

// Takes what GoogleTest has left: --seed N and --cases N.
bool TakeOptions(int argc, char** argv) {
  for (int i = 1; i < argc; i += 2) {
    std::string_view name = argv[i];
    if (i + 1 == argc || (name != "--seed" && name != "--cases")) return false;
    std::string_view text = argv[i + 1];
    uint64_t value = 0;
    auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || at != text.data() + text.size()) return false;
    if (name == "--seed") seed = value;
    if (name == "--cases") cases_per_operator = static_cast<int>(std::min<uint64_t>(value, 100000));
  }
  return true;
}

}  // namespace webnnd::reference

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!webnnd::reference::TakeOptions(argc, argv)) {
    std::fprintf(stderr, "usage: %s [--seed N] [--cases N] [GoogleTest's options]\n", argv[0]);
    return 1;
  }
  return RUN_ALL_TESTS();
}
