// BindingImpl: descriptor sets and recorded command buffers of an executable with its tensors.
#ifndef WEBNND_SERVICE_VULKAN_BINDING_IMPL_H_
#define WEBNND_SERVICE_VULKAN_BINDING_IMPL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/vulkan/executable_impl.h"

namespace webnnd::service {

class BindingImpl : public Binding {
 public:
  // A secondary command buffer of about DeviceProfile::submission_cost at most, where kernels
  // allow. It starts with a full barrier, and may be submitted again while it runs.
  struct Segment {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t cost = 0;
    size_t end = 0;  // The call after the last one.
  };

  // Where sizes vary, a dispatch finds its parameters and the numbers of its workgroups in memory
  // that the host writes: twice, so that the next one need not wait for the last.
  struct Slot {
    std::vector<Segment> segments;
    std::shared_ptr<const Plan> plan;  // nullptr: the executable's own, whose sizes are recorded.
    // Held by dispatches until they have run.
    std::shared_ptr<const void> token = std::make_shared<char>();
  };

  BindingImpl(std::shared_ptr<ExecutableImpl> executable, bool variable)
      : executable_(std::move(executable)), variable_(variable) {}

  Status Prepare(const std::vector<std::shared_ptr<Buffer>>& inputs,
                 const std::vector<std::shared_ptr<Buffer>>& outputs);

  const DeviceImpl* device() const { return &executable_->device(); }
  const std::vector<Segment>& segments() const { return slots_[current_].segments; }
  std::shared_ptr<const void> token() const { return slots_[current_].token; }

  Use UsePlan(const std::shared_ptr<const Plan>& plan) override;

 private:
  Result<std::vector<std::shared_ptr<BufferImpl>>> Adopt(
      const std::vector<std::shared_ptr<Buffer>>& buffers, const std::vector<uint64_t>& bytes_min);
  Status WriteSets();
  Status WriteSet(size_t call);
  // The texel view of `buffer`, one for all calls that read it.
  Result<VkBufferView> TexelView(const BufferRef& buffer);
  VkDescriptorBufferInfo Describe(const BufferRef& buffer) const;
  Status Record(size_t slot);
  // Records the calls from `first` on that fit one segment; returns the first that does not.
  Result<size_t> RecordSegment(size_t slot, size_t first);
  void RecordCall(VkCommandBuffer commands, size_t slot, size_t call, uint32_t workgroups) const;
  bool IsLike(const Plan& plan) const;
  // Whether it can be cut into the submissions that were recorded.
  bool FitsSegments(const Plan& plan) const;
  void WriteSlot(size_t slot, const Plan& plan);
  const BufferImpl& parameters() const {
    return variable_ ? *variable_parameters_ : executable_->parameters();
  }
  uint64_t SlotBytes() const { return executable_->parameters().bytes(); }
  // Of the workgroups of a call, in variable_parameters_.
  uint64_t GroupsOffset(size_t slot, size_t call) const;
  uint32_t CountWorkgroups(const KernelCall& call) const;

  // Keeps the device, and so must die last.
  std::shared_ptr<ExecutableImpl> executable_;
  std::vector<std::shared_ptr<BufferImpl>> inputs_;
  std::vector<std::shared_ptr<BufferImpl>> outputs_;
  std::map<BufferRef, UniqueBufferView> texel_views_;
  UniqueDescriptorPool descriptor_pool_;
  std::vector<VkDescriptorSet> sets_;  // One per call.
  UniqueCommandPool command_pool_;
  bool variable_;
  std::shared_ptr<BufferImpl> variable_parameters_;
  std::vector<Slot> slots_;
  size_t current_ = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_BINDING_IMPL_H_
