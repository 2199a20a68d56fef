// PipelineCache: the pipelines of a device, each compiled and warmed once.
#ifndef WEBNND_SERVICE_VULKAN_PIPELINE_CACHE_H_
#define WEBNND_SERVICE_VULKAN_PIPELINE_CACHE_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/compiled_kernel.h"
#include "base/result.h"
#include "service/plan/plan.h"
#include "service/vulkan/device.h"
#include "service/vulkan/handle.h"
#include "service/vulkan/kernel_set.h"
#include "service/vulkan/memory.h"
#include "shaders/shader_id.h"

namespace webnnd::service {

struct PipelineKey {
  shaders::ShaderId shader{};
  std::vector<uint32_t> specialization;  // Constants 1, 2, ...
  friend auto operator<=>(const PipelineKey&, const PipelineKey&) = default;
};

struct Pipeline {
  UniquePipeline handle;
  const KernelSetLayout* layout;  // Of the cache.
};

// Thread-safe.
class PipelineCache {
 public:
  explicit PipelineCache(LogicalDevice& device);

  // Makes what stands in for missing buffers. Called once, before anything else.
  Status Initialize(Memory& memory);

  // Whom to tell of kernels. Called before any is compiled.
  void ReportWith(const DeviceOptions& options);

  // Tells of those of the calls' pipelines that are not there, before Get() is called for each.
  void Announce(std::span<const KernelCall> calls, const std::atomic<bool>* cancelled) const;

  // nullptr: it is not there, or not yet.
  std::shared_ptr<Pipeline> Find(const PipelineKey& key, KernelLife life);

  // The pipeline of `key`, after its first dispatch: drivers compile then, some of them anew for
  // parameters like `parameters`, those of a call. Another thread's compilation of the same
  // pipeline is waited for.
  Result<std::shared_ptr<Pipeline>> Get(const PipelineKey& key,
                                        std::span<const uint32_t> parameters, KernelLife life);
  // As Device::DropIdleEvaluationKernels().
  void DropIdle();

  // Compiles it, runs none of it, and keeps nothing but what the driver does.
  Status Compile(const PipelineKey& key);

  // How many were compiled so far.
  uint64_t compiled_count() const { return compiled_count_.load(std::memory_order_relaxed); }

  const KernelSetLayouts& layouts() const { return layouts_; }
  // What stands in for each buffer that is not there.
  const KernelDescriptors& dummies() const { return dummies_; }

 private:
  Status CreateDummies(Memory& memory);
  // What the driver gets: the module with these constants, and no others.
  std::vector<uint32_t> CodeOf(const PipelineKey& key) const;
  Result<std::shared_ptr<Pipeline>> Create(const PipelineKey& key);
  // Runs it with `workgroups` and all parameters zero, which kernels answer with no work, and with
  // no workgroup and these parameters.
  Status Warm(const Pipeline& pipeline, uint32_t workgroups, std::span<const uint32_t> parameters);
  Status MakeRoom();
  uint64_t HashOf(const PipelineKey& key) const;
  // None: it has more constants than travel.
  std::optional<HashedKernel> Hashed(const PipelineKey& key) const;
  void Report(const PipelineKey& key) const;

  struct Entry {
    std::shared_ptr<Pipeline> pipeline;  // nullptr: being built by the thread that inserted it.
    KernelLife life = KernelLife::kEvaluation;  // The longest that anybody asked for.
    uint64_t got_after = 0;                     // `drops_` when it was last asked for.

    void OnGet(KernelLife wanted, uint64_t drops) {
      if (wanted == KernelLife::kDevice) life = wanted;
      got_after = drops;
    }
    bool is_idle() const { return pipeline.use_count() == 1; }
  };

  LogicalDevice& device_;
  KernelSetLayouts layouts_;
  std::unique_ptr<MemoryBlock> dummy_block_;
  UniqueBufferView dummy_texels_;
  KernelDescriptors dummies_;
  std::mutex warm_mutex_;  // One at a time has its parameters in the dummies.

  // As DeviceOptions has them.
  std::function<void(const HashedKernel&)> on_compiled_;
  std::function<void()> after_step_;
  std::function<void(std::span<const HashedKernel>, const std::atomic<bool>*)> before_compiling_;
  std::atomic<uint64_t> compiled_count_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable built_;
  std::map<PipelineKey, Entry> pipelines_;
  uint64_t drops_ = 0;  // Calls of DropIdle().
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_PIPELINE_CACHE_H_
