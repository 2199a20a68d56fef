#include "service/vulkan/pipeline_cache.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/fnv1a.h"
#include "base/limits.h"
#include "base/trace.h"
#include "service/spirv/specialize.h"
#include "service/vulkan/commands.h"
#include "service/vulkan/vk_try.h"
#include "shaders/shader_table.h"

namespace webnnd::service {
namespace {

// Parameters that are zero, tensors, and the parameters of a call.
constexpr uint32_t kWarmParametersOffset = 2 * kParameterBytesPerCall;
constexpr uint64_t kDummyBytes = 3 * kParameterBytesPerCall;

}  // namespace

PipelineCache::PipelineCache(LogicalDevice& device)
    : device_(device), layouts_(device), dummy_texels_(device.get()) {}

void PipelineCache::ReportWith(const DeviceOptions& options) {
  on_compiled_ = options.on_compiled;
  after_step_ = options.after_compiling_step;
  before_compiling_ = options.before_compiling;
}

Status PipelineCache::Initialize(Memory& memory) { return CreateDummies(memory); }

Status PipelineCache::CreateDummies(Memory& memory) {
  ASSIGN_OR_RETURN(dummy_block_, memory.CreateBlock(MemoryKind::kParameters, kDummyBytes));
  std::memset(dummy_block_->mapped, 0, kDummyBytes);
  const VkBuffer buffer = dummy_block_->buffer.get();
  dummies_.parameters = {buffer, 0, kParameterBytesPerCall};
  dummies_.storage.fill({buffer, kParameterBytesPerCall, kParameterBytesPerCall});
  if (layouts_.has_texels()) {
    ASSIGN_OR_RETURN(dummy_texels_, layouts_.CreateTexelView(dummies_.storage[0]));
    dummies_.texels.fill(dummy_texels_.get());
  }
  return {};
}

std::shared_ptr<Pipeline> PipelineCache::Find(const PipelineKey& key, KernelLife life) {
  std::lock_guard lock(mutex_);
  const auto found = pipelines_.find(key);
  if (found == pipelines_.end() || found->second.pipeline == nullptr) return nullptr;
  found->second.OnGet(life, drops_);
  return found->second.pipeline;
}

Result<std::shared_ptr<Pipeline>> PipelineCache::Get(const PipelineKey& key,
                                                     std::span<const uint32_t> parameters,
                                                     KernelLife life) {
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto found = pipelines_.find(key);
      if (found == pipelines_.end()) break;
      Entry& entry = found->second;
      entry.OnGet(life, drops_);
      if (entry.pipeline != nullptr) return entry.pipeline;
      built_.wait(lock);
    }
    TRY(MakeRoom());
    pipelines_.emplace(key, Entry{.life = life, .got_after = drops_});
  }
  TraceScope scope("compile a pipeline");
  scope.Add("shader", static_cast<uint64_t>(key.shader));
  Result<std::shared_ptr<Pipeline>> pipeline = Create(key);
  if (after_step_) after_step_();
  if (pipeline.ok()) {
    Status warmed = Warm(**pipeline, /*workgroups=*/1, parameters);
    if (!warmed.ok()) pipeline = std::move(warmed).error();
    if (after_step_) after_step_();
  }
  scope.End();
  {
    std::lock_guard lock(mutex_);
    if (pipeline.ok()) {
      pipelines_[key].pipeline = *pipeline;
      compiled_count_.fetch_add(1, std::memory_order_relaxed);
    } else {
      // Who waits for it tries again, and gets an error of its own.
      pipelines_.erase(key);
    }
  }
  built_.notify_all();
  if (pipeline.ok()) Report(key);
  return pipeline;
}

uint64_t PipelineCache::HashOf(const PipelineKey& key) const {
  const Adapter& adapter = device_.adapter();
  Fnv1a hash;
  hash.Add(std::as_bytes(std::span(adapter.info.name)));
  hash.Add(std::as_bytes(std::span(adapter.info.driver)));
  const DeviceProfile& profile = device_.profile();
  const std::array<uint32_t, 4> forms = {profile.local_size, profile.subgroup_size,
                                         profile.float_controls.keeps_subnormals,
                                         profile.float_controls.keeps_specials};
  hash.Add(std::as_bytes(std::span(forms)));
  hash.Add(std::as_bytes(shaders::Spirv(key.shader, device_.profile().variant)));
  hash.Add(std::as_bytes(std::span(key.specialization)));
  return hash.value();
}

std::optional<HashedKernel> PipelineCache::Hashed(const PipelineKey& key) const {
  if (key.specialization.size() > CompiledKernel::kConstantsMax) return std::nullopt;
  HashedKernel hashed{
      .kernel = {.adapter = device_.adapter().info.index,
                 .shader = static_cast<uint32_t>(key.shader),
                 .constant_count = static_cast<uint32_t>(key.specialization.size())},
      .hash = HashOf(key)};
  std::copy(key.specialization.begin(), key.specialization.end(), hashed.kernel.constants.begin());
  return hashed;
}

void PipelineCache::Report(const PipelineKey& key) const {
  if (!on_compiled_) return;
  if (const auto hashed = Hashed(key)) on_compiled_(*hashed);
}

void PipelineCache::Announce(std::span<const KernelCall> calls,
                             const std::atomic<bool>* cancelled) const {
  if (!before_compiling_) return;
  std::set<PipelineKey> keys;
  {
    std::lock_guard lock(mutex_);
    for (const KernelCall& call : calls) {
      PipelineKey key{call.shader, call.specialization};
      if (!pipelines_.contains(key)) keys.insert(std::move(key));
    }
  }
  std::vector<HashedKernel> kernels;
  for (const PipelineKey& key : keys) {
    if (const auto hashed = Hashed(key)) kernels.push_back(*hashed);
  }
  if (!kernels.empty()) before_compiling_(kernels, cancelled);
}

Status PipelineCache::MakeRoom() {
  if (pipelines_.size() < limits::kPipelinesPerDeviceMax) return {};
  std::erase_if(pipelines_, [](const auto& entry) { return entry.second.is_idle(); });
  if (pipelines_.size() < limits::kPipelinesPerDeviceMax) return {};
  return QuotaError("the graphs use too many different kernels ({})", pipelines_.size());
}

void PipelineCache::DropIdle() {
  std::lock_guard lock(mutex_);
  std::erase_if(pipelines_, [&](const auto& pair) {
    const Entry& entry = pair.second;
    return entry.life == KernelLife::kEvaluation && entry.got_after < drops_ && entry.is_idle();
  });
  ++drops_;
}

Status PipelineCache::Compile(const PipelineKey& key) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Pipeline> pipeline, Create(key));
  TRY(Warm(*pipeline, /*workgroups=*/0, {}));
  Report(key);
  return {};
}

std::vector<uint32_t> PipelineCache::CodeOf(const PipelineKey& key) const {
  const DeviceProfile& profile = device_.profile();
  std::map<uint32_t, uint32_t> constants = {
      {0, profile.local_size}, {shaders::kSubgroupSizeConstant, profile.subgroup_size}};
  uint32_t id = 1;
  for (uint32_t value : key.specialization) constants.emplace(id++, value);
  std::vector<uint32_t> code =
      spirv::Specialize(shaders::Spirv(key.shader, profile.variant), constants);
  if (profile.float_controls.any()) code = WithFloatControls(code, profile.float_controls);
  return code;
}

Result<std::shared_ptr<Pipeline>> PipelineCache::Create(const PipelineKey& key) {
  const std::vector<uint32_t> code = CodeOf(key);
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = code.size() * sizeof(uint32_t);
  module_info.pCode = code.data();
  UniqueShaderModule module(device_.get());
  VK_TRY(device_.lost(), vkCreateShaderModule(device_.get(), &module_info, nullptr, module.out()));

  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = "main";
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroups{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
  if (device_.profile().requires_subgroup_size) {
    subgroups.requiredSubgroupSize = device_.profile().subgroup_size;
    info.stage.pNext = &subgroups;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  ASSIGN_OR_RETURN(const KernelSetLayout* layout, layouts_.Get(key.shader));
  info.layout = layout->pipeline();
  auto pipeline = std::make_shared<Pipeline>(Pipeline{UniquePipeline(device_.get()), layout});
  VK_TRY(device_.lost(), vkCreateComputePipelines(device_.get(), VK_NULL_HANDLE, 1, &info, nullptr,
                                                  pipeline->handle.out()));
  return pipeline;
}

Status PipelineCache::Warm(const Pipeline& pipeline, uint32_t workgroups,
                           std::span<const uint32_t> parameters) {
  CHECK(parameters.size_bytes() <= kParameterBytesPerCall);
  std::lock_guard lock(warm_mutex_);
  std::memset(dummy_block_->mapped + kWarmParametersOffset, 0, kParameterBytesPerCall);
  if (!parameters.empty()) {
    std::memcpy(dummy_block_->mapped + kWarmParametersOffset, parameters.data(),
                parameters.size_bytes());
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  ASSIGN_OR_RETURN(UniqueDescriptorPool sets,
                   layouts_.AllocateSets({&pipeline.layout, 1}, {&set, 1}));
  pipeline.layout->Write(set, dummies_);
  ASSIGN_OR_RETURN(UniqueCommandPool pool,
                   CreateCommandPool(device_, VK_COMMAND_POOL_CREATE_TRANSIENT_BIT));
  ASSIGN_OR_RETURN(VkCommandBuffer commands,
                   AllocateCommandBuffer(device_, pool.get(), VK_COMMAND_BUFFER_LEVEL_PRIMARY));
  TRY(BeginCommandBuffer(device_, commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle.get());
  for (uint32_t offset : {0u, kWarmParametersOffset}) {
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout->pipeline(),
                            0, 1, &set, 1, &offset);
    vkCmdDispatch(commands, offset == 0 ? workgroups : 0, 1, 1);
  }
  VK_TRY(device_.lost(), vkEndCommandBuffer(commands));

  UniqueFence fence(device_.get());
  VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VK_TRY(device_.lost(), vkCreateFence(device_.get(), &fence_info, nullptr, fence.out()));
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  TRY(device_.Submit(submit, fence.get()));
  VkFence waited = fence.get();
  const uint64_t patience_ns = limits::kDispatchMsMax * 1'000'000ull;
  VkResult result = VK_CALL(vkWaitForFences(device_.get(), 1, &waited, VK_TRUE, patience_ns));
  if (result == VK_SUCCESS) return {};
  // What was recorded must not be freed while it runs.
  if (result == VK_TIMEOUT) device_.SetHung();
  device_.WaitIdleBeforeRelease();
  if (result == VK_TIMEOUT) return DeviceLostError("a kernel does not end ({} ns)", patience_ns);
  return VulkanError(device_.lost(), result, "vkWaitForFences");
}

}  // namespace webnnd::service
