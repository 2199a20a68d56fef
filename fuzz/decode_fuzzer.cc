// One segment, decoded as a message of either direction. What decodes is encoded and decoded again,
// and must be the same then: nothing that the service accepts may be ambiguous.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/shared_memory.h"

namespace webnnd::ipc {
namespace {

// Hello needs the most.
constexpr int kDescriptors = 2;

std::deque<UniqueFd> MakeDescriptors() {
  static const UniqueFd kFile = std::move(CreateSealedMemfd("fuzz", 4096)).value();
  std::deque<UniqueFd> descriptors;
  for (int i = 0; i < kDescriptors; ++i) descriptors.push_back(kFile.Duplicate());
  return descriptors;
}

template <auto kDecode>
void DecodeTwice(std::span<const std::byte> frame) {
  std::deque<UniqueFd> descriptors = MakeDescriptors();
  auto message = kDecode(frame, descriptors);
  if (!message.ok()) return;
  Frame first = Encode(std::move(message).value());
  CHECK(first.descriptors.size() == kDescriptors - descriptors.size());
  descriptors.clear();
  for (UniqueFd& fd : first.descriptors) descriptors.push_back(std::move(fd));

  auto again = kDecode(first.bytes, descriptors);
  CHECK(again.ok());
  CHECK(descriptors.empty());
  Frame second = Encode(std::move(again).value());
  CHECK(second.bytes == first.bytes);
  CHECK(second.descriptors.size() == first.descriptors.size());
}

}  // namespace
}  // namespace webnnd::ipc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace webnnd;  // NOLINT(build/namespaces)
  // The header is made here: the frame fuzzer plays with headers.
  size_t words = std::min<size_t>((size + 7) / 8, limits::kFrameBytesMax / 8 - 1);
  if (words == 0) return 0;
  size_t bytes = ipc::kFrameHeaderBytes + words * 8;
  std::unique_ptr<std::byte[]> frame(new std::byte[bytes]());
  auto count = static_cast<uint32_t>(words);
  std::memcpy(frame.get() + 4, &count, sizeof(count));
  std::memcpy(frame.get() + ipc::kFrameHeaderBytes, data, std::min(size, words * 8));
  ipc::DecodeTwice<ipc::DecodeClientMessage>({frame.get(), bytes});
  ipc::DecodeTwice<ipc::DecodeServiceMessage>({frame.get(), bytes});
  return 0;
}
