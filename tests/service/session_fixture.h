// SessionTest: bad clients, message by message, beside a good one that must not notice.
#ifndef WEBNND_TESTS_SERVICE_SESSION_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_SESSION_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/raw_client.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {

using ipc::Handle;

// A regular file without a name.
UniqueFd TemporaryFile(std::span<const float> values);

// A raw client with a context, and what tests make of it.
class Peer {
 public:
  static constexpr uint32_t kElements = 4;

  explicit Peer(ipc::InProcessService& service) : client_(service) {}

  // Hello and a context.
  void Open();
  ipc::RawClient& client() { return client_; }
  void Send(ipc::ClientMessage message) { client_.Send(std::move(message)); }
  Handle context() const { return context_; }
  Handle NewHandle() { return {next_index_++, 1}; }

  // A readable and writable tensor float32[elements]. `error`, if given, is why it cannot be.
  Handle MakeTensor(uint32_t elements = kElements);
  void Write(Handle tensor, const std::vector<float>& values);
  ipc::TensorRead Read(Handle tensor, ipc::Destination destination = ipc::InlineDestination{});
  std::vector<float> ReadFloats(Handle tensor);
  // Why reading fails; Internal when it does not.
  Error ReadError(Handle tensor);

  // A builder with the inputs 1 ("a") and 2 ("b"), both float32[kElements].
  Handle MakeBuilder();
  // 3 = 1 + 2 and so on.
  static webidl::Operator Binary(webidl::OperatorKind kind, uint32_t a, uint32_t b,
                                 uint32_t result);
  void AddOperators(Handle builder, std::vector<webidl::Operator> operators);
  // Builds, and returns what the service answers.
  ipc::GraphBuilt Build(Handle builder, Handle graph, std::vector<uint32_t> inputs,
                        std::vector<ipc::GraphOutput> outputs);
  // sum = a + b
  Handle MakeAddGraph();
  void Dispatch(Handle graph, std::vector<Handle> inputs, std::vector<Handle> outputs) {
    Send(ipc::Dispatch{graph, std::move(inputs), std::move(outputs)});
  }

  // Everything works: a new graph gives the right sums.
  void ExpectWorks();

 private:
  ipc::RawClient client_;
  Handle context_;
  uint32_t next_index_ = 1;
  uint64_t next_request_ = 1;
};

class SessionTest : public ServiceTest {
 protected:
  void SetUp() override;
  // The bystander still works; then all sessions end, and nothing is left behind (ServiceTest).
  void TearDown() override;

  Peer& peer() { return *peer_; }
  Peer& bystander() { return *bystander_; }
  // A client that has not said Hello.
  std::unique_ptr<Peer> Stranger() { return std::make_unique<Peer>(host()); }
  // The peer's session must have ended with a reason that contains `text`.
  void ExpectEnds(Peer& peer, const std::string& text);
  // The device holds as many bytes as when the test began, soon.
  void ExpectDeviceBytesReturnTo(int64_t bytes);

 private:
  std::unique_ptr<Peer> peer_;
  std::unique_ptr<Peer> bystander_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SERVICE_SESSION_FIXTURE_H_
