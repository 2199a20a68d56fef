#include "service/session/objects.h"

#include <algorithm>

#include "base/checked_math.h"

namespace webnnd::service {

Result<Budget::Reservation> Budget::Reserve(const std::shared_ptr<Budget>& budget,
                                            uint64_t amount) {
  uint64_t used = budget->used_;
  do {
    if (amount > budget->limit_ || used > budget->limit_ - amount) {
      return QuotaError("the client's {} ({} and {} more) are over its limit ({})", budget->what_,
                        used, amount, budget->limit_);
    }
  } while (!budget->used_.compare_exchange_weak(used, used + amount));
  return Reservation(budget, amount);
}

Status Budget::Extend(const std::shared_ptr<Budget>& budget, uint64_t amount,
                      Reservation& reservation) {
  if (amount <= reservation.amount_) return {};
  ASSIGN_OR_RETURN(Reservation more, Reserve(budget, amount - reservation.amount_));
  reservation.budget_ = budget;
  reservation.amount_ = amount;
  more.amount_ = 0;
  return {};
}

Result<std::shared_ptr<Buffer>> AllocateWithinQuota(Device& device,
                                                    const std::shared_ptr<DeviceQuota>& quota,
                                                    uint64_t bytes) {
  struct Accounted {
    DeviceQuota::Reservation reservation;
    std::shared_ptr<Buffer> buffer;
  };
  auto accounted = std::make_shared<Accounted>();
  // As much as it takes of the device: a scalar is not 4 bytes there.
  ASSIGN_OR_RETURN(
      accounted->reservation,
      DeviceQuota::Reserve(quota, AlignUp(std::max<uint64_t>(bytes, 1), kBufferAlignment)));
  ASSIGN_OR_RETURN(accounted->buffer, device.Allocate(bytes));
  Buffer* buffer = accounted->buffer.get();
  return std::shared_ptr<Buffer>(std::move(accounted), buffer);
}

void BindingUsers::Add(const std::shared_ptr<BindingObject>& binding) {
  if (bindings_.size() >= prune_at_) {
    std::erase_if(bindings_, [](const auto& weak) { return weak.expired(); });
    prune_at_ = std::max<size_t>(16, 2 * bindings_.size());
  }
  bindings_.push_back(binding);
}

void BindingUsers::Invalidate(const Error& reason) {
  for (const auto& weak : bindings_) {
    const std::shared_ptr<BindingObject> binding = weak.lock();
    if (binding == nullptr) continue;
    binding->prepared = nullptr;
    binding->variants.clear();
    binding->recordings.clear();
    binding->plan_ahead = nullptr;
    if (!binding->error) binding->error = reason;
  }
  bindings_.clear();
}

}  // namespace webnnd::service
