#include "tools/benchmarks/gpu.h"

#include <future>
#include <span>
#include <utility>

#include "base/limits.h"
#include "service/plan/plan.h"
#include "tools/benchmarks/must.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

using service::BufferSpace;

// What a kernel can be given anywhere, and so many times that no cache has it all.
constexpr uint64_t kBytes = limits::kBindingBytesMax;
constexpr int kBuffers = 8;
constexpr uint64_t kQuadBytes = 16;
// Many times what any GPU runs at once.
constexpr uint64_t kInvocations = uint64_t{1} << 20;
// Of shaders/yardstick.comp.
constexpr uint64_t kQuadsPerTurn = 4;
constexpr uint64_t kChains = 32;
constexpr uint64_t kMultiplyAddTurns = 512;

// So many that waiting does not count.
constexpr int kTurns = 4;

std::vector<std::shared_ptr<service::Buffer>> AllocateMemory(service::Device& device) {
  std::vector<std::shared_ptr<service::Buffer>> buffers;
  for (int i = 0; i < kBuffers; ++i) buffers.push_back(Must(device.Allocate(kBytes)));
  return buffers;
}

}  // namespace

std::unique_ptr<Gpu> Gpu::Find(const std::string& name) {
  for (const service::AdapterInfo& adapter : Must(service::ListAdapters({}))) {
    if (adapter.name != name || !adapter.accelerated) continue;
    return std::unique_ptr<Gpu>(new Gpu(Must(service::Device::Open(adapter.index, {}))));
  }
  return nullptr;
}

Gpu::Gpu(std::shared_ptr<service::Device> device)
    : device_(std::move(device)),
      memory_(AllocateMemory(*device_)),
      results_(Must(device_->Allocate(kInvocations * sizeof(uint32_t)))),
      timeline_(Must(service::Timeline::Create(device_))),
      reading_(MakeKernel(/*reads=*/true)),
      adding_(MakeKernel(/*reads=*/false)) {
  for (auto& buffer : memory_) Must(timeline_->Clear(buffer));
  Must(timeline_->Clear(results_));
}

Gpu::Kernel Gpu::MakeKernel(bool reads) {
  constexpr uint64_t kReadingTurns = kBytes / (kInvocations * kQuadsPerTurn * kQuadBytes);
  service::KernelCall call;
  call.shader = shaders::ShaderId::kYardstick;
  call.specialization = {reads};
  call.buffers = {{.space = BufferSpace::kInput, .bytes = kBytes},
                  {.space = BufferSpace::kOutput, .bytes = results_->bytes(), .written = true}};
  call.parameters = {static_cast<uint32_t>(reads ? kReadingTurns : kMultiplyAddTurns),
                     static_cast<uint32_t>(kInvocations)};
  call.invocations = kInvocations;
  call.label = "yardstick";
  service::Plan plan;
  plan.calls = {std::move(call)};
  plan.input_bytes = {kBytes};
  plan.output_bytes = {results_->bytes()};
  auto executable = Must(service::Executable::Create(device_, std::move(plan), {}));
  Kernel kernel;
  for (const auto& buffer : memory_) {
    kernel.bindings.push_back(Must(service::Binding::Create(executable, {buffer}, {results_})));
  }
  const uint64_t work = reads ? kBytes : kInvocations * kChains * kMultiplyAddTurns;
  kernel.work = static_cast<double>(work * kernel.bindings.size());
  return kernel;
}

double Gpu::RateOf(const Kernel& kernel) {
  double seconds = 0;
  // The first time wakes it.
  for (const int turns : {1, kTurns}) {
    const double begin = Now();
    for (int turn = 0; turn < turns; ++turn) {
      for (const auto& binding : kernel.bindings) Must(timeline_->Dispatch(binding));
    }
    std::promise<void> read;
    Must(timeline_->Read(results_, sizeof(uint32_t),
                         [&](Result<std::span<const std::byte>>) { read.set_value(); }));
    Must(timeline_->Flush());
    read.get_future().get();
    seconds = (Now() - begin) / turns;
  }
  return kernel.work / seconds * 1e-9;
}

double Gpu::StreamBandwidth() { return RateOf(reading_); }

double Gpu::MultiplyAdds() { return RateOf(adding_); }

}  // namespace webnnd::benchmarks
