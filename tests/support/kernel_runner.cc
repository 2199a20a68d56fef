#include "tests/support/kernel_runner.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "base/check.h"
#include "base/drivers_llvm/loop_limits.h"
#include "service/passes/compile.h"
#include "tests/support/device_options.h"
#include "tests/support/guarded_run.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

using webidl::BitsPerElement;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

bool IsSigned(OperandDataType type) {
  return type == OperandDataType::kInt32 || type == OperandDataType::kInt64 ||
         type == OperandDataType::kInt8 || type == OperandDataType::kInt4;
}

uint64_t HalfBits(long double value) {
  uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  long double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), -14);
  // Units of the last place, to even. A carry runs into the exponent as it should. (nearbyint and
  // the distributions of <random> take most of the time of tests of large tensors.)
  const long double exact = std::ldexp(magnitude, 10 - exponent);
  auto units = static_cast<uint64_t>(exact);
  const long double rest = exact - static_cast<long double>(units);
  if (rest > 0.5L || (rest == 0.5L && units % 2 == 1)) ++units;
  return sign | (units + (static_cast<uint64_t>(exponent + 14) << 10));
}

long double HalfValue(uint64_t bits) {
  long double sign = (bits & 0x8000) != 0 ? -1 : 1;
  int exponent = static_cast<int>((bits >> 10) & 31);
  auto fraction = static_cast<long double>(bits & 0x3ff);
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<long double>::quiet_NaN()
                         : sign * std::numeric_limits<long double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

uint64_t EncodeValue(OperandDataType type, long double value) {
  if (type == OperandDataType::kFloat32) {
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  if (type == OperandDataType::kFloat16) return HalfBits(value);
  if (value < 0) return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

long double DecodeValue(OperandDataType type, uint64_t bits) {
  if (type == OperandDataType::kFloat32) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  }
  if (type == OperandDataType::kFloat16) return HalfValue(bits);
  uint32_t unused = 64 - BitsPerElement(type);
  if (IsSigned(type)) {
    return static_cast<long double>(static_cast<int64_t>(bits << unused) >> unused);
  }
  return static_cast<long double>(bits << unused >> unused);
}

// Places on the line of all values of the format, of which -0 and +0 are one.
int64_t OrderedPosition(OperandDataType type, long double value) {
  uint64_t bits = EncodeValue(type, value);
  uint64_t sign = uint64_t{1} << (BitsPerElement(type) - 1);
  return (bits & sign) != 0 ? -static_cast<int64_t>(bits & ~sign) : static_cast<int64_t>(bits);
}

}  // namespace

HostTensor HostTensor::Create(OperandDataType type, const webidl::Shape& shape,
                              const std::vector<long double>& values) {
  auto descriptor = OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  CHECK(descriptor.ok());
  HostTensor tensor{*descriptor, std::vector<std::byte>(descriptor->byte_length())};
  uint64_t count = descriptor->element_count();
  CHECK(values.size() == 1 || values.size() == count);
  uint32_t bits = BitsPerElement(type);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t element = EncodeValue(type, values[values.size() == 1 ? 0 : i]);
    if (bits == 4) {
      tensor.bytes[i / 2] |= static_cast<std::byte>((element & 15) << (i % 2 * 4));
    } else {
      std::memcpy(tensor.bytes.data() + i * bits / 8, &element, bits / 8);
    }
  }
  return tensor;
}

std::vector<long double> HostTensor::Values() const {
  uint32_t bits = BitsPerElement(descriptor.data_type());
  std::vector<long double> values;
  values.reserve(descriptor.element_count());
  for (uint64_t i = 0; i < descriptor.element_count(); ++i) {
    uint64_t element = 0;
    if (bits == 4) {
      element = static_cast<uint64_t>(bytes[i / 2]) >> (i % 2 * 4) & 15;
    } else {
      std::memcpy(&element, bytes.data() + i * bits / 8, bits / 8);
    }
    values.push_back(DecodeValue(descriptor.data_type(), element));
  }
  return values;
}

HostTensor RandomTensor(OperandDataType type, const webidl::Shape& shape, uint32_t seed, double low,
                        double high) {
  const bool is_float = type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
  std::mt19937 random(seed);
  auto real = [&] { return low + (high - low) * 0x1p-32 * random(); };
  const int64_t lowest = IsSigned(type) ? -100 : 0;
  auto integer = [&] { return lowest + static_cast<int64_t>(random() % (101 - lowest)); };
  std::vector<long double> values(
      std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>()));
  for (long double& value : values) value = is_float ? real() : integer();
  return HostTensor::Create(type, shape, values);
}

long double RoundTo(OperandDataType type, long double value) {
  return DecodeValue(type, EncodeValue(type, value));
}

double UlpDistance(OperandDataType type, long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (type != OperandDataType::kFloat32 && type != OperandDataType::kFloat16) {
    return static_cast<double>(std::fabs(a - b));
  }
  return std::fabs(static_cast<double>(OrderedPosition(type, a) - OrderedPosition(type, b)));
}

namespace {

// Kernels loop as where lavapipe's LLVM is out of our programs' reach, so that a lowering that
// counts their turns wrongly is noticed; others share no cache with them.
void KeepDriversLoopLimits() {
#if defined(__x86_64__) && !defined(WEBNND_SANITIZERS)
  KeepLoopLimits();
  constexpr const char* kCache = "MESA_SHADER_CACHE_DIR";
  const char* directory = std::getenv(kCache);
  if (directory != nullptr) {
    setenv(kCache, (std::string(directory) + "-limited").c_str(), /*overwrite=*/1);
  }
#endif
}

}  // namespace

std::shared_ptr<Device> TestDevice() {
  static const std::shared_ptr<Device> device = [] {
    KeepDriversLoopLimits();
    auto opened = Device::Open(0, TestDeviceOptions());
    if (!opened.ok()) std::fprintf(stderr, "%s\n", opened.error().ToString().c_str());
    CHECK(opened.ok());
    return *opened;
  }();
  return device;
}

Result<std::vector<HostTensor>> RunGraph(Graph graph, const std::vector<HostTensor>& inputs) {
  CHECK(graph.inputs.size() == inputs.size());
  std::vector<OperandDescriptor> descriptors;
  std::vector<uint64_t> result_bits;
  for (const Graph::Output& output : graph.outputs) {
    const OperandDescriptor& descriptor = graph.values[output.value].descriptor;
    descriptors.push_back(descriptor);
    result_bits.push_back(descriptor.element_count() * BitsPerElement(descriptor.data_type()));
  }
  std::vector<std::vector<std::byte>> input_bytes;
  for (const HostTensor& input : inputs) input_bytes.push_back(input.bytes);
  graph.device.wide = TestDevice()->wide();
  graph.device.narrow = TestDevice()->narrow();
  StreamedStores& streamed = graph.device.streamed_stores;
  streamed.gathered = streamed.gathered || TestDevice()->streamed_stores().gathered;
  streamed.transposed_words =
      streamed.transposed_words || TestDevice()->streamed_stores().transposed_words;
  ASSIGN_OR_RETURN(CompiledGraph compiled,
                   CompileGraph(std::move(graph), {}, {.guard_bytes = kGuardBytes}));
  ASSIGN_OR_RETURN(auto outputs,
                   RunGuarded(TestDevice(), std::move(compiled.plan), input_bytes, result_bits));
  uint64_t messages = Device::ValidationMessageCount();
  if (messages != 0) return InternalError("the validation layers complain ({} times)", messages);
  std::vector<HostTensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back({descriptors[i], std::move(outputs[i])});
  }
  return results;
}

Result<std::vector<HostTensor>> RunNode(webidl::OperatorKind kind,
                                        const std::vector<std::optional<HostTensor>>& operands,
                                        webidl::OperatorAttributes attributes,
                                        const StreamedStores& streamed_stores) {
  Graph graph;
  graph.device.streamed_stores = streamed_stores;
  Node node{.kind = kind, .attributes = std::move(attributes)};
  std::vector<const OperandDescriptor*> descriptors;
  std::vector<HostTensor> inputs;
  for (const std::optional<HostTensor>& operand : operands) {
    descriptors.push_back(operand ? &operand->descriptor : nullptr);
    if (!operand) {
      node.operands.push_back(kNoValue);
      continue;
    }
    auto index = static_cast<uint32_t>(graph.inputs.size());
    auto value = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({Value::Kind::kInput, operand->descriptor, index});
    graph.inputs.push_back({"input" + std::to_string(index), value});
    node.operands.push_back(value);
    inputs.push_back(*operand);
  }
  ASSIGN_OR_RETURN(auto results,
                   webidl::InferOperator(kind, descriptors, node.attributes, /*label=*/""));
  for (const OperandDescriptor& result : results) {
    auto value = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({Value::Kind::kResult, result, 0});
    graph.outputs.push_back({"output" + std::to_string(graph.outputs.size()), value});
    node.results.push_back(value);
  }
  graph.nodes.push_back(std::move(node));
  return RunGraph(std::move(graph), inputs);
}

HostTensor RunOne(webidl::OperatorKind kind, const std::vector<std::optional<HostTensor>>& operands,
                  webidl::OperatorAttributes attributes, const StreamedStores& streamed_stores) {
  auto results = RunNode(kind, operands, std::move(attributes), streamed_stores);
  if (!results.ok()) std::fprintf(stderr, "%s\n", results.error().ToString().c_str());
  CHECK(results.ok() && results->size() == 1);
  return std::move(results->front());
}

HostTensor RunWithOtherSizes(webidl::OperatorKind kind, const HostTensor& input,
                             webidl::OperatorAttributes attributes, size_t operands) {
  Graph graph;
  graph.reserves = true;
  graph.values = {{Value::Kind::kInput, input.descriptor, 0},
                  {Value::Kind::kResult, input.descriptor, 0}};
  graph.inputs = {{"input", 0}};
  graph.outputs = {{"output", 1}};
  Node node{.kind = kind, .attributes = std::move(attributes)};
  node.operands.assign(operands, kNoValue);
  node.operands[0] = 0;
  node.results = {1};
  graph.nodes.push_back(std::move(node));
  auto results = RunGraph(std::move(graph), {input});
  CHECK(results.ok() && results->size() == 1);
  return std::move(results->front());
}

}  // namespace webnnd::service
