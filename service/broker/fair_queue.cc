#include "service/broker/fair_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace webnnd::service {

std::optional<FairQueue::Refusal> FairQueue::Add(uint32_t client, pid_t id) {
  const size_t own = processes_.contains(id) ? processes_.at(id).waiting.size() : 0;
  if (own >= options_.waiting_per_process_max) {
    return Refusal{client, QuotaError("too many clients of this process wait ({})", own)};
  }
  std::optional<Refusal> refusal;
  if (size_ >= options_.waiting_max) {
    Error why = QuotaError("too many clients wait ({})", size_);
    const auto most = std::max_element(
        processes_.begin(), processes_.end(), [](const auto& left, const auto& right) {
          return left.second.waiting.size() < right.second.waiting.size();
        });
    if (most == processes_.end() || most->second.waiting.size() <= own + 1) {
      return Refusal{client, std::move(why)};
    }
    // Its last, which has waited least.
    const uint32_t last = most->second.waiting.back();
    CHECK(OnLeft(last));
    refusal = Refusal{last, std::move(why)};
  }
  Process& process = processes_[id];
  if (process.waiting.empty()) process.turn = ++last_turn_;
  process.waiting.push_back(client);
  clients_[client] = {.process = id};
  ++size_;
  return refusal;
}

bool FairQueue::MayBeServed(const Process& process) const {
  return !process.waiting.empty() && process.served < options_.served_per_process_max;
}

std::optional<uint32_t> FairQueue::Next() const {
  const Process* next = nullptr;
  for (const auto& [id, process] : processes_) {
    if (!MayBeServed(process)) continue;
    if (next == nullptr ||
        std::pair(process.served > 0, process.turn) < std::pair(next->served > 0, next->turn)) {
      next = &process;
    }
  }
  if (next == nullptr) return std::nullopt;
  return next->waiting.front();
}

void FairQueue::OnServed(uint32_t client) {
  Client& entry = clients_.at(client);
  CHECK(!entry.served);
  entry.served = true;
  Unqueue(client, entry.process);
  Process& process = processes_.at(entry.process);
  ++process.served;
  process.turn = ++last_turn_;
}

bool FairQueue::OnLeft(uint32_t client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return false;
  const auto [process, served] = found->second;
  clients_.erase(found);
  if (served) {
    --processes_.at(process).served;
  } else {
    Unqueue(client, process);
  }
  ForgetIfIdle(process);
  return true;
}

bool FairQueue::IsWaiting(uint32_t client) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && !found->second.served;
}

std::vector<uint32_t> FairQueue::TakeWaiting() {
  std::vector<uint32_t> taken;
  for (const auto& [client, entry] : clients_) {
    if (!entry.served) taken.push_back(client);
  }
  for (const uint32_t client : taken) OnLeft(client);
  return taken;
}

size_t FairQueue::servable() const {
  size_t count = 0;
  for (const auto& [id, process] : processes_) {
    if (!MayBeServed(process)) continue;
    count += std::min(process.waiting.size(), options_.served_per_process_max - process.served);
  }
  return count;
}

size_t FairQueue::newcomers() const {
  return static_cast<size_t>(std::count_if(
      processes_.begin(), processes_.end(),
      [this](const auto& entry) { return entry.second.served == 0 && MayBeServed(entry.second); }));
}

void FairQueue::Unqueue(uint32_t client, pid_t process) {
  CHECK(std::erase(processes_.at(process).waiting, client) == 1);
  --size_;
}

void FairQueue::ForgetIfIdle(pid_t id) {
  const Process& process = processes_.at(id);
  if (process.waiting.empty() && process.served == 0) processes_.erase(id);
}

}  // namespace webnnd::service
