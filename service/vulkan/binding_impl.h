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
  // A command buffer of about DeviceProfile::submission_cost at most, where kernels allow. It
  // starts with a full barrier, and may be submitted again while it runs.
  struct Segment {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t cost = 0;
  };

  explicit BindingImpl(std::shared_ptr<ExecutableImpl> executable)
      : executable_(std::move(executable)) {}

  Status Prepare(const std::vector<std::shared_ptr<Buffer>>& inputs,
                 const std::vector<std::shared_ptr<Buffer>>& outputs);

  const DeviceImpl* device() const { return &executable_->device(); }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  Result<std::vector<std::shared_ptr<BufferImpl>>> Adopt(
      const std::vector<std::shared_ptr<Buffer>>& buffers, const std::vector<uint64_t>& bytes_min);
  Status WriteSets();
  Status WriteSet(size_t call);
  // The texel view of `buffer`, one for all calls that read it.
  Result<VkBufferView> TexelView(const BufferRef& buffer);
  VkDescriptorBufferInfo Describe(const BufferRef& buffer) const;
  Status Record();
  // Records the calls from `first` on that fit one segment; returns the first that does not.
  Result<size_t> RecordSegment(size_t first);
  void RecordCall(VkCommandBuffer commands, size_t call, uint32_t workgroups) const;
  uint32_t CountWorkgroups(const KernelCall& call) const;

  // Keeps the device, and so must die last.
  std::shared_ptr<ExecutableImpl> executable_;
  std::vector<std::shared_ptr<BufferImpl>> inputs_;
  std::vector<std::shared_ptr<BufferImpl>> outputs_;
  std::map<BufferRef, UniqueBufferView> texel_views_;
  UniqueDescriptorPool descriptor_pool_;
  std::vector<VkDescriptorSet> sets_;  // One per call.
  UniqueCommandPool command_pool_;
  std::vector<Segment> segments_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_BINDING_IMPL_H_
