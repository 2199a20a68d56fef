// A service that the test scripts: it takes the client's messages one by one and answers by hand.
#ifndef WEBNND_TESTS_CLIENT_FAKE_SERVICE_H_
#define WEBNND_TESTS_CLIENT_FAKE_SERVICE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/webnn.h"
#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"
#include "ipc/shared_memory.h"

namespace webnn::test {

namespace ipc = webnnd::ipc;

class FakeService final : public ipc::InProcessService {
 public:
  webnnd::Result<std::unique_ptr<ipc::Channel>> Connect() override;

  // The next message, which must be of this type, within seconds.
  template <class Message>
  Message Expect() {
    std::optional<ipc::ClientMessage> message = Next(5000);
    if (!message || !std::holds_alternative<Message>(*message)) {
      ADD_FAILURE() << "expected another message than "
                    << (message ? static_cast<int>(message->index()) : -1);
      return {};
    }
    return std::get<Message>(std::move(*message));
  }
  // The next message, unless none comes within the time.
  std::optional<ipc::ClientMessage> Next(int timeout_ms);
  // Whether nothing comes for a moment.
  bool IsQuiet() { return !Next(30).has_value(); }
  // Takes Hello and maps the arenas.
  void Greet();

  void Send(ipc::ServiceMessage message);
  void SendBytes(std::span<const std::byte> bytes);
  // Ends the connection, as a worker's death does.
  void Close() { channel_->Close(); }

  // The bytes of a payload, wherever they are.
  std::vector<std::byte> Read(const ipc::Payload& payload);
  // Answers a read with these bytes, by its destination.
  void Answer(ipc::ReadTensor& read, std::span<const std::byte> bytes);

  int connections() const { return connections_; }
  void set_refuse(bool refuse) { refuse_ = refuse; }

 private:
  std::unique_ptr<ipc::Channel> channel_;
  std::unique_ptr<ipc::FrameReader> reader_;
  ipc::SharedMapping up_;
  ipc::SharedMapping down_;
  int connections_ = 0;
  bool refuse_ = false;
};

// An ML on a fake service, and the usual objects.
class ClientTest : public testing::Test {
 protected:
  static constexpr uint64_t kTensorBytesMax = 64ull << 20;

  std::shared_ptr<Context> MakeContext(const ContextOptions& options = {});
  std::shared_ptr<Tensor> MakeTensor(Context& context, TensorDescriptor descriptor);
  // A constant tensor of float32[n], all 0.
  std::shared_ptr<Tensor> MakeConstantTensor(Context& context, uint32_t elements);
  // outputs["sum"] = inputs["a"] + inputs["b"], all of float32[elements].
  std::shared_ptr<Graph> MakeAddGraph(std::shared_ptr<Context> context, uint32_t elements);
  static TensorDescriptor Float32(uint32_t elements) {
    return {OperandDataType::kFloat32, {elements}, true, true};
  }

  FakeService service_;
  std::unique_ptr<ML> ml_ = std::make_unique<ML>(webnn::Connect::InProcess(service_));
};

std::vector<std::byte> Pattern(size_t bytes, uint8_t seed = 1);

// The error of a future or result that must have failed.
template <class T>
Error ErrorOf(const Result<T>& result) {
  if (result.ok()) {
    ADD_FAILURE() << "it succeeds";
    return Error(Cause::kInternal, "");
  }
  return result.error();
}
template <class T>
Error ErrorOf(const Future<T>& future) {
  if (!future.ready()) {
    ADD_FAILURE() << "it is pending";
    return Error(Cause::kInternal, "");
  }
  return ErrorOf(future.result());
}

}  // namespace webnn::test

#endif  // WEBNND_TESTS_CLIENT_FAKE_SERVICE_H_
