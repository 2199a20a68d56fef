#include "tools/benchmarks/graph_runner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

using webnn::OperandDataType;

template <class T, class Draw>
void Fill(std::vector<std::byte>& bytes, Draw draw) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = static_cast<T>(draw());
    std::memcpy(&bytes[at], &value, sizeof(T));
  }
}

}  // namespace

std::vector<std::byte> RandomBytes(const webnn::OperandDescriptor& descriptor, uint32_t bound,
                                   std::mt19937& random) {
  std::vector<std::byte> bytes(descriptor.byte_length());
  switch (descriptor.data_type()) {
    case OperandDataType::kFloat32:
      Fill<float>(bytes,
                  [&] { return 0.125f + 0.875f * static_cast<float>(random() & 0xffff) / 65536; });
      break;
    case OperandDataType::kFloat16:
      // 0x3000 is 0.125, 0x3c00 is 1.
      Fill<uint16_t>(bytes, [&] { return 0x3000 + random() % 0xc00; });
      break;
    case OperandDataType::kInt32:
    case OperandDataType::kUint32:
      Fill<uint32_t>(bytes, [&] { return random() % bound; });
      break;
    case OperandDataType::kInt64:
    case OperandDataType::kUint64:
      Fill<uint64_t>(bytes, [&] { return random() % bound; });
      break;
    default:
      Fill<uint8_t>(bytes, [&] { return random(); });
  }
  return bytes;
}

webnn::Operand GraphSketch::Input(OperandDataType type, const webnn::Shape& shape, uint32_t bound) {
  std::string name = "input" + std::to_string(inputs_.size());
  webnn::Operand operand = Must(builder_.Input(name, type, shape));
  inputs_.push_back({name, operand.descriptor(), bound});
  moved_bytes_ += static_cast<double>(operand.descriptor().byte_length());
  return operand;
}

webnn::Operand GraphSketch::Constant(OperandDataType type, const webnn::Shape& shape) {
  auto descriptor = Must(webnn::OperandDescriptor::Create(type, std::span<const uint32_t>(shape)));
  moved_bytes_ += static_cast<double>(descriptor.byte_length());
  return Must(builder_.Constant(type, shape, RandomBytes(descriptor, /*bound=*/100, random_)));
}

void GraphSketch::Output(const webnn::Operand& operand) {
  outputs_.emplace("output" + std::to_string(outputs_.size()), operand);
  moved_bytes_ += static_cast<double>(operand.descriptor().byte_length());
}

GraphRunner::GraphRunner(webnn::ML& ml, const std::shared_ptr<webnn::Context>& context,
                         const std::function<void(GraphSketch&)>& draw)
    : ml_(ml), context_(context) {
  GraphSketch sketch(context);
  draw(sketch);
  multiply_adds_ = sketch.multiply_adds_;
  bytes_ = sketch.bytes_ > 0 ? sketch.bytes_ : sketch.moved_bytes_;
  graph_ = Must(ml_.Wait(sketch.builder_.Build(sketch.outputs_)));
  auto make = [&](const webnn::OperandDescriptor& descriptor, bool readable, bool writable) {
    return Must(ml_.Wait(
        context_->CreateTensor({descriptor.data_type(), descriptor.shape(), readable, writable})));
  };
  for (const GraphSketch::DrawnInput& input : sketch.inputs_) {
    auto tensor = make(input.descriptor, /*readable=*/false, /*writable=*/true);
    Must(
        context_->WriteTensor(*tensor, RandomBytes(input.descriptor, input.bound, sketch.random_)));
    inputs_.emplace(input.name, std::move(tensor));
  }
  for (const auto& [name, operand] : sketch.outputs_) {
    outputs_.emplace(name, make(operand.descriptor(), /*readable=*/true, /*writable=*/false));
  }
  last_ = Must(ml_.Wait(context_->CreateTensor({OperandDataType::kFloat32, {1}, true, false})));
}

double GraphRunner::SecondsPerDispatch(int count) {
  std::array<std::byte, sizeof(float)> nothing;
  double begin = Now();
  for (int i = 0; i < count; ++i) Must(context_->Dispatch(*graph_, inputs_, outputs_));
  Must(ml_.Wait(context_->ReadTensor(*last_, nothing)));
  return (Now() - begin) / count;
}

double GraphRunner::SecondsPerWarmDispatch(int count) {
  SecondsPerDispatch(1);
  return SecondsPerDispatch(count);
}

int GraphRunner::CountFor(double seconds) {
  constexpr double kCountMax = 500;
  double one = SecondsPerWarmDispatch(1);
  return static_cast<int>(std::clamp(seconds / one, 1.0, kCountMax));
}

}  // namespace webnnd::benchmarks
