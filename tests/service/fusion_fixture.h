// Fusion: what a framework decomposed runs as one kernel, with the results of the operators that
// the client asked for; and what looks similar is left alone. ../shared/fusion holds the exact
// graphs of web frameworks (ctest: conformance/fusion); here is what must hold without it, in a
// file for each kind of pattern.
#ifndef WEBNND_TESTS_SERVICE_FUSION_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_FUSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service::fusion_test {

using webidl::OperandDataType;
using webidl::Shape;
using webnn::Operand;

inline constexpr OperandDataType kFloat = OperandDataType::kFloat32;
inline constexpr OperandDataType kHalf = OperandDataType::kFloat16;

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  CHECK(result.ok());
  return *std::move(result);
}

// A graph that a test writes down, with its inputs' data.
class Net {
 public:
  Net(webnn::ML& ml, std::shared_ptr<webnn::Context> context)
      : builder(context), ml_(ml), context_(std::move(context)), random_(1) {}

  Operand In(OperandDataType type, const Shape& shape) {
    HostTensor data = Random(type, shape);
    std::string name = "input" + std::to_string(inputs_.size());
    inputs_.emplace(name, Upload(data));
    return Must(builder.Input(name, type, shape));
  }
  Operand Integers(const Shape& shape, const std::vector<long double>& values,
                   OperandDataType type = OperandDataType::kInt64) {
    HostTensor data = HostTensor::Create(type, shape, values);
    std::string name = "input" + std::to_string(inputs_.size());
    inputs_.emplace(name, Upload(data));
    return Must(builder.Input(name, type, shape));
  }
  Operand Constant(OperandDataType type, const Shape& shape) {
    HostTensor data = Random(type, shape);
    return Must(builder.Constant(type, shape, data.bytes));
  }
  Operand Constant(OperandDataType type, const Shape& shape,
                   const std::vector<long double>& values) {
    return Must(builder.Constant(type, shape, HostTensor::Create(type, shape, values).bytes));
  }
  void Out(const Operand& operand) {
    // Sorted as they come.
    outputs_.emplace("output" + std::to_string(1000 + outputs_.size()), operand);
  }

  struct Ran {
    uint32_t kernels = 0;
    std::vector<HostTensor> outputs;
  };
  // Where it is in place, results go to tensors of inputs that they fit in.
  Ran Run(bool in_place = false) {
    auto graph = Must(ml_.Wait(builder.Build(outputs_)));
    // An input that no output needs is none of the graph's.
    std::erase_if(inputs_, [&](const auto& input) {
      return std::none_of(graph->inputs().begin(), graph->inputs().end(),
                          [&](const auto& endpoint) { return endpoint.name == input.first; });
    });
    webnn::NamedTensors tensors;
    webnn::NamedTensors to_replace;
    if (in_place) to_replace = inputs_;
    for (const auto& [name, operand] : outputs_) {
      std::shared_ptr<webnn::Tensor> tensor = TakeLike(operand, to_replace);
      if (tensor == nullptr) {
        tensor = Must(ml_.Wait(context_->CreateTensor(
            {.data_type = operand.data_type(), .shape = operand.shape(), .readable = true})));
      }
      tensors.emplace(name, std::move(tensor));
    }
    const Status dispatched = Dispatch(*graph, tensors);
    if (!dispatched.ok()) std::fprintf(stderr, "%s\n", dispatched.error().ToString().c_str());
    CHECK(dispatched.ok());
    Ran ran{graph->kernel_count(), {}};
    for (const auto& [name, operand] : outputs_) {
      ran.outputs.push_back(
          {operand.descriptor(), Must(ml_.Wait(context_->ReadTensor(*tensors.at(name))))});
    }
    return ran;
  }

  webnn::GraphBuilder builder;

 private:
  HostTensor Random(OperandDataType type, const Shape& shape) {
    size_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    const bool is_float = type == kFloat || type == kHalf;
    std::uniform_real_distribution<double> real(-2, 2);
    std::uniform_int_distribution<int> integer(0, 15);
    std::vector<long double> values(count);
    // In float16 as in float32.
    const auto exact = [](double value) { return std::round(value * 256) / 256; };
    for (long double& value : values) {
      value = is_float ? exact(real(random_)) : integer(random_) - 8;
    }
    return HostTensor::Create(type, shape, values);
  }
  // A tensor in which the operand fits, which is then no longer among `tensors`; or nullptr.
  static std::shared_ptr<webnn::Tensor> TakeLike(const Operand& operand,
                                                 webnn::NamedTensors& tensors) {
    for (auto it = tensors.begin(); it != tensors.end(); ++it) {
      if (it->second->data_type() != operand.data_type()) continue;
      if (it->second->shape() != operand.shape()) continue;
      return std::move(tensors.extract(it).mapped());
    }
    return nullptr;
  }
  // By a binding, which alone may have one tensor as input and output.
  Status Dispatch(webnn::Graph& graph, const webnn::NamedTensors& tensors) {
    ASSIGN_OR_RETURN(auto binding, context_->Bind(graph, inputs_, tensors));
    return context_->Dispatch(*binding);
  }
  std::shared_ptr<webnn::Tensor> Upload(const HostTensor& data) {
    auto tensor = Must(ml_.Wait(context_->CreateTensor({.data_type = data.descriptor.data_type(),
                                                        .shape = data.descriptor.shape(),
                                                        .readable = true,
                                                        .writable = true})));
    CHECK(context_->WriteTensor(*tensor, data.bytes).ok());
    return tensor;
  }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  std::mt19937 random_;
  webnn::NamedTensors inputs_;
  webnn::NamedOperands outputs_;
};

class Fusion : public ServiceTest {
 protected:
  using Write = std::function<void(Net&)>;

  Net::Ran Run(const Write& write, bool fusion, const std::string& fusions = "",
               bool in_place = false) {
    Net net(ml(), MakeContext({.fusion = fusion, .fusions = fusions}));
    write(net);
    return net.Run(in_place);
  }

  // Of a graph whose products llvmpipe's cores pack, and GPUs load otherwise.
  static uint32_t KernelsOfCoresOrGpus(uint32_t of_cores, uint32_t of_gpus) {
    return TestDevice()->wide() ? of_gpus : of_cores;
  }

  // Runs the graph as it stands and fused: as many kernels as said, and the same results.
  void ExpectKernels(uint32_t kernels, const Write& write, const std::string& fusions = "") {
    Net::Ran plain = Run(write, /*fusion=*/false);
    Net::Ran fused = Run(write, /*fusion=*/true, fusions);
    EXPECT_EQ(fused.kernels, kernels) << "of " << plain.kernels;
    ASSERT_EQ(fused.outputs.size(), plain.outputs.size());
    for (size_t i = 0; i < plain.outputs.size(); ++i) {
      ExpectNear(plain.outputs[i], fused.outputs[i]);
    }
  }
  // No macro operator is found but chains, which any element-wise operators make.
  void ExpectUnchanged(const Write& write) {
    ExpectKernels(Run(write, /*fusion=*/false).kernels, write, "-elementwiseChain");
    ExpectKernels(Run(write, /*fusion=*/true, "elementwiseChain").kernels, write);
  }

  // Operators round after each step in their own type: relative to the greatest value.
  static void ExpectNear(const HostTensor& want, const HostTensor& got) {
    std::vector<long double> wanted = want.Values();
    std::vector<long double> values = got.Values();
    ASSERT_EQ(wanted.size(), values.size());
    long double greatest = 1;
    for (long double value : wanted) greatest = std::max(greatest, std::fabs(value));
    const long double tolerance =
        greatest * (want.descriptor.data_type() == kHalf ? 0x1p-8L : 0x1p-19L);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_LE(std::fabs(wanted[i] - values[i]), tolerance) << "element " << i;
    }
  }
};

// SimplifiedLayerNormalization, as ONNX Runtime Web writes it.
struct Norm {
  Operand squares;
  Operand mean;
  Operand result;
};
Norm AddNorm(Net& net, const Operand& x, const Operand& gain);

// MatMulNBits, as ONNX Runtime Web writes it.
Operand AddBlockMatmul(Net& net, const Operand& x, OperandDataType weight_type, uint32_t columns,
                       uint32_t block);

// x times the transpose of constant weights, as checkpoints store them.
Operand Project(Net& net, const Operand& x, uint32_t columns);

Operand AddBias(Net& net, const Operand& x);

}  // namespace webnnd::service::fusion_test

#endif  // WEBNND_TESTS_SERVICE_FUSION_FIXTURE_H_
