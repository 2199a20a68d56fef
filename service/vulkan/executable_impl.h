// ExecutableImpl: the pipelines, constants, arena and parameters of one plan.
#ifndef WEBNND_SERVICE_VULKAN_EXECUTABLE_IMPL_H_
#define WEBNND_SERVICE_VULKAN_EXECUTABLE_IMPL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/checked_math.h"
#include "base/result.h"
#include "service/vulkan/device_impl.h"

namespace webnnd::service {

class ExecutableImpl : public Executable {
 public:
  ExecutableImpl(std::shared_ptr<DeviceImpl> device, Plan plan)
      : device_(std::move(device)), plan_(std::move(plan)) {}

  Status Prepare(const std::vector<std::shared_ptr<Buffer>>& constants,
                 const std::atomic<bool>* cancelled, const std::shared_ptr<Buffer>& arena,
                 KernelLife life);

  Status CompilePipelines(const std::atomic<bool>* cancelled, KernelLife life);

  const Plan& plan() const override { return plan_; }
  uint64_t device_bytes() const override;

  DeviceImpl& device() const { return *device_; }
  const std::shared_ptr<DeviceImpl>& shared_device() const { return device_; }
  const Pipeline& pipeline(size_t call) const { return *pipelines_[call]; }
  const BufferImpl& constant(uint32_t index) const { return *constants_[index]; }
  const BufferImpl* arena() const { return arena_.get(); }  // nullptr: the plan needs none.
  const BufferImpl* counters() const { return counters_.get(); }  // The same.
  const BufferImpl& parameters() const { return *parameters_; }
  // Where the parameters of a call start in parameters().
  uint32_t parameter_offset(size_t call) const { return parameter_offsets_[call]; }
  // Bytes from there to those of the next call.
  uint64_t parameter_room(size_t call) const {
    return AlignUp<uint64_t>(plan_.calls[call].parameters.size() * sizeof(uint32_t),
                             kBufferAlignment);
  }

 private:
  Status AdoptConstants(const std::vector<std::shared_ptr<Buffer>>& constants);
  Status CheckCalls() const;
  Status CheckBuffer(const BufferRef& buffer) const;
  Status WriteParameters();
  Status MakeCounters();

  std::shared_ptr<DeviceImpl> device_;
  Plan plan_;
  std::vector<std::shared_ptr<BufferImpl>> constants_;
  std::shared_ptr<BufferImpl> arena_;
  std::shared_ptr<BufferImpl> counters_;
  std::shared_ptr<BufferImpl> parameters_;
  std::vector<uint32_t> parameter_offsets_;
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_EXECUTABLE_IMPL_H_
