// Both directions of the codec under one name, for tests that are of either.
#ifndef WEBNND_TESTS_IPC_CODEC_FIXTURE_H_
#define WEBNND_TESTS_IPC_CODEC_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ipc/codec.h"
#include "tests/ipc/sample_messages.h"

namespace webnnd::ipc {

template <class Message>
struct Codec;
template <>
struct Codec<ClientMessage> {
  static std::vector<ClientMessage> Samples() { return SampleClientMessages(); }
  static constexpr auto kDecode = DecodeClientMessage;
};
template <>
struct Codec<ServiceMessage> {
  static std::vector<ServiceMessage> Samples() { return SampleServiceMessages(); }
  static constexpr auto kDecode = DecodeServiceMessage;
};

// Decodes from memory of exactly the frame's size, so that sanitizers see any byte read beyond.
template <class Message>
Result<Message, BadMessage> Decode(std::span<const std::byte> frame,
                                   std::deque<UniqueFd>& descriptors) {
  std::unique_ptr<std::byte[]> copy(new std::byte[frame.size()]);
  std::copy(frame.begin(), frame.end(), copy.get());
  return Codec<Message>::kDecode({copy.get(), frame.size()}, descriptors);
}
template <class Message = ClientMessage>
Result<Message, BadMessage> Decode(Frame frame) {
  std::deque<UniqueFd> descriptors;
  for (UniqueFd& fd : frame.descriptors) descriptors.push_back(std::move(fd));
  return Decode<Message>(frame.bytes, descriptors);
}

using Directions = testing::Types<ClientMessage, ServiceMessage>;

}  // namespace webnnd::ipc

#endif  // WEBNND_TESTS_IPC_CODEC_FIXTURE_H_
