#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/trace.h"
#include "service/vulkan/binding_impl.h"
#include "service/vulkan/commands.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {

Result<std::shared_ptr<Binding>> Binding::Create(std::shared_ptr<Executable> executable,
                                                 std::vector<std::shared_ptr<Buffer>> inputs,
                                                 std::vector<std::shared_ptr<Buffer>> outputs,
                                                 bool variable) {
  auto own = std::dynamic_pointer_cast<ExecutableImpl>(std::move(executable));
  CHECK(own != nullptr);
  auto binding = std::make_shared<BindingImpl>(std::move(own), variable);
  TRY(binding->Prepare(inputs, outputs));
  return std::shared_ptr<Binding>(std::move(binding));
}

Status BindingImpl::Prepare(const std::vector<std::shared_ptr<Buffer>>& inputs,
                            const std::vector<std::shared_ptr<Buffer>>& outputs) {
  TraceScope scope("bind");
  const Plan& plan = executable_->plan();
  ASSIGN_OR_RETURN(inputs_, Adopt(inputs, plan.input_bytes));
  ASSIGN_OR_RETURN(outputs_, Adopt(outputs, plan.output_bytes));
  slots_.resize(variable_ ? 2 : 1);
  if (plan.calls.empty()) return {};
  if (variable_) {
    const uint64_t bytes = GroupsOffset(slots_.size(), 0);
    ASSIGN_OR_RETURN(variable_parameters_,
                     executable_->device().Allocate(MemoryKind::kParameters, bytes));
    std::memset(variable_parameters_->mapped(), 0, bytes);
    variable_parameters_->ShareWithDevice();
  }
  TRY(WriteSets());
  ASSIGN_OR_RETURN(command_pool_, CreateCommandPool(executable_->device().logical(), 0));
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (variable_) WriteSlot(slot, plan);
    TRY(Record(slot));
  }
  return {};
}

// The parameters of all slots come first, then the numbers of workgroups.
uint64_t BindingImpl::GroupsOffset(size_t slot, size_t call) const {
  const uint64_t calls = executable_->plan().calls.size();
  return slots_.size() * SlotBytes() + (slot * calls + call) * sizeof(VkDispatchIndirectCommand);
}

Binding::Use BindingImpl::UsePlan(const std::shared_ptr<const Plan>& plan) {
  CHECK(variable_);
  if (slots_[current_].plan == plan) return Use::kReady;
  if (!IsLike(*plan)) return Use::kOtherPlan;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].plan != plan && slots_[slot].token.use_count() > 1) continue;
    // A count says nothing of what was read before it fell; the device has read this slot.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slots_[slot].plan != plan) WriteSlot(slot, *plan);
    slots_[slot].plan = plan;
    current_ = slot;
    return Use::kReady;
  }
  return Use::kBusy;
}

bool BindingImpl::FitsSegments(const Plan& plan) const {
  const uint64_t cost_max = executable_->device().profile().submission_cost;
  size_t call = 0;
  for (const Segment& segment : slots_[0].segments) {
    uint64_t cost = 0, recorded = 0;
    for (; call < segment.end; ++call) {
      cost += plan.calls[call].cost;
      recorded += executable_->plan().calls[call].cost;
    }
    if (cost > std::max(cost_max, 2 * recorded)) return false;
  }
  return true;
}

// Whether the plan's calls are those that are recorded, but for their parameters and how much they
// do.
bool BindingImpl::IsLike(const Plan& plan) const {
  const Plan& own = executable_->plan();
  if (plan.calls.size() != own.calls.size() || plan.arena_bytes > own.arena_bytes ||
      plan.counter_bytes != own.counter_bytes || plan.input_bytes != own.input_bytes ||
      plan.output_bytes != own.output_bytes || plan.constant_bytes != own.constant_bytes) {
    return false;
  }
  for (size_t i = 0; i < own.calls.size(); ++i) {
    const KernelCall& call = plan.calls[i];
    const KernelCall& recorded = own.calls[i];
    if (call.shader != recorded.shader || call.specialization != recorded.specialization ||
        call.buffers != recorded.buffers || call.barrier_before != recorded.barrier_before ||
        call.parameters.size() * sizeof(uint32_t) > executable_->parameter_room(i)) {
      return false;
    }
  }
  return FitsSegments(plan);
}

void BindingImpl::WriteSlot(size_t slot, const Plan& plan) {
  if (plan.calls.empty()) return;
  std::byte* memory = variable_parameters_->mapped();
  for (size_t i = 0; i < plan.calls.size(); ++i) {
    const std::vector<uint32_t>& words = plan.calls[i].parameters;
    if (!words.empty()) {
      std::memcpy(memory + slot * SlotBytes() + executable_->parameter_offset(i), words.data(),
                  words.size() * sizeof(uint32_t));
    }
    const VkDispatchIndirectCommand groups{CountWorkgroups(plan.calls[i]), 1, 1};
    std::memcpy(memory + GroupsOffset(slot, i), &groups, sizeof groups);
  }
  size_t call = 0;
  for (Segment& segment : slots_[slot].segments) {
    segment.cost = 0;
    for (; call < segment.end; ++call) segment.cost += plan.calls[call].cost;
  }
}

Result<std::vector<std::shared_ptr<BufferImpl>>> BindingImpl::Adopt(
    const std::vector<std::shared_ptr<Buffer>>& buffers, const std::vector<uint64_t>& bytes_min) {
  if (buffers.size() != bytes_min.size()) {
    return InternalError("the plan has another number of tensors ({}, not {})", bytes_min.size(),
                         buffers.size());
  }
  std::vector<std::shared_ptr<BufferImpl>> adopted;
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> buffer, executable_->device().Own(buffers[i]));
    if (buffer->bytes() < bytes_min[i]) {
      return InternalError("tensor {} is smaller than planned ({} bytes)", i, buffer->bytes());
    }
    buffer->ShareWithDevice();
    adopted.push_back(std::move(buffer));
  }
  return adopted;
}

Status BindingImpl::WriteSets() {
  sets_.resize(executable_->plan().calls.size());
  std::vector<const KernelSetLayout*> layouts;
  for (size_t call = 0; call < sets_.size(); ++call) {
    layouts.push_back(executable_->pipeline(call).layout);
  }
  ASSIGN_OR_RETURN(descriptor_pool_,
                   executable_->device().pipelines().layouts().AllocateSets(layouts, sets_));
  for (size_t call = 0; call < sets_.size(); ++call) TRY(WriteSet(call));
  return {};
}

Status BindingImpl::WriteSet(size_t call) {
  const KernelSetLayout& layout = *executable_->pipeline(call).layout;
  const std::vector<BufferRef>& buffers = executable_->plan().calls[call].buffers;
  KernelDescriptors descriptors = executable_->device().pipelines().dummies();
  descriptors.parameters = {parameters().handle(), parameters().offset(), kParameterBytesPerCall};
  for (size_t i = 0; i < buffers.size(); ++i) {
    // Vulkan knows no empty range; a kernel without elements does not touch it.
    if (buffers[i].bytes == 0) continue;
    // In storage as well, where words and pairs are read.
    descriptors.storage[i] = Describe(buffers[i]);
    if (layout.HasTexels(i) && !buffers[i].written) {
      ASSIGN_OR_RETURN(descriptors.texels[i], TexelView(buffers[i]));
    }
  }
  ++executable_->device().descriptor_updates;
  layout.Write(sets_[call], descriptors);
  return {};
}

Result<VkBufferView> BindingImpl::TexelView(const BufferRef& buffer) {
  if (auto found = texel_views_.find(buffer); found != texel_views_.end()) {
    return found->second.get();
  }
  ASSIGN_OR_RETURN(UniqueBufferView view,
                   executable_->device().pipelines().layouts().CreateTexelView(Describe(buffer)));
  return texel_views_.emplace(buffer, std::move(view)).first->second.get();
}

VkDescriptorBufferInfo BindingImpl::Describe(const BufferRef& buffer) const {
  const BufferImpl* whole = nullptr;
  switch (buffer.space) {
    case BufferSpace::kInput:
      whole = inputs_[buffer.index].get();
      break;
    case BufferSpace::kOutput:
      whole = outputs_[buffer.index].get();
      break;
    case BufferSpace::kConstant:
      whole = &executable_->constant(buffer.index);
      break;
    case BufferSpace::kArena:
      whole = executable_->arena();
      break;
    case BufferSpace::kCounters:
      whole = executable_->counters();
      break;
  }
  CHECK(whole != nullptr && buffer.offset + buffer.bytes <= whole->bytes());
  // The last quad is read as a whole; memory is allocated in multiples of kBufferAlignment.
  const uint64_t bytes = buffer.written ? buffer.bytes : AlignUp(buffer.bytes, kTexelBytes);
  return {whole->handle(), whole->offset() + buffer.offset, bytes};
}

Status BindingImpl::Record(size_t slot) {
  for (size_t call = 0; call < executable_->plan().calls.size();) {
    ASSIGN_OR_RETURN(call, RecordSegment(slot, call));
  }
  return {};
}

Result<size_t> BindingImpl::RecordSegment(size_t slot, size_t first) {
  DeviceImpl& device = executable_->device();
  ++device.recordings;
  const std::vector<KernelCall>& calls = executable_->plan().calls;
  Segment segment;
  ASSIGN_OR_RETURN(segment.commands, AllocateCommandBuffer(device.logical(), command_pool_.get(),
                                                           VK_COMMAND_BUFFER_LEVEL_SECONDARY));
  TRY(BeginCommandBuffer(device.logical(), segment.commands,
                         VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
  RecordFullBarrier(segment.commands);
  bool barrier_due = false;
  VkPipeline bound = VK_NULL_HANDLE;
  size_t call = first;
  for (; call < calls.size(); ++call) {
    const bool fits = segment.cost + calls[call].cost <= device.profile().submission_cost;
    if (call != first && !fits) break;
    segment.cost += calls[call].cost;
    // The segment's first barrier covers its first call.
    barrier_due |= calls[call].barrier_before && call != first;
    const uint32_t workgroups = CountWorkgroups(calls[call]);
    if (workgroups == 0 && !variable_) continue;
    if (std::exchange(barrier_due, false)) RecordKernelBarrier(segment.commands);
    if (VkPipeline pipeline = executable_->pipeline(call).handle.get(); pipeline != bound) {
      vkCmdBindPipeline(segment.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound = pipeline;
    }
    RecordCall(segment.commands, slot, call, workgroups);
  }
  VK_TRY(device.lost(), vkEndCommandBuffer(segment.commands));
  segment.end = call;
  slots_[slot].segments.push_back(segment);
  return call;
}

void BindingImpl::RecordCall(VkCommandBuffer commands, size_t slot, size_t call,
                             uint32_t workgroups) const {
  const auto offset = static_cast<uint32_t>((variable_ ? slot * SlotBytes() : 0) +
                                            executable_->parameter_offset(call));
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                          executable_->pipeline(call).layout->pipeline(), 0, 1, &sets_[call], 1,
                          &offset);
  if (!variable_) return vkCmdDispatch(commands, workgroups, 1, 1);
  vkCmdDispatchIndirect(commands, variable_parameters_->handle(),
                        variable_parameters_->offset() + GroupsOffset(slot, call));
}

uint32_t BindingImpl::CountWorkgroups(const KernelCall& call) const {
  DeviceImpl& device = executable_->device();
  const uint64_t device_max = device.logical().adapter().limits.maxComputeWorkGroupCount[0];
  const DeviceProfile& profile = device.profile();
  const uint64_t wanted = call.workgroups != 0
                              ? call.workgroups
                              : DivideRoundingUp<uint64_t>(call.invocations, profile.local_size);
  const uint64_t by_cost = DivideRoundingUp(call.cost / call.cost_per_turn,
                                            profile.invocation_cost_max * profile.local_size);
  // A multiple, so that threads of a driver which deals them out beforehand get as many each.
  const uint64_t limit =
      profile.workgroups_max *
      std::max<uint64_t>(1, DivideRoundingUp<uint64_t>(by_cost, profile.workgroups_max));
  return static_cast<uint32_t>(std::min({wanted, limit, device_max}));
}

}  // namespace webnnd::service
