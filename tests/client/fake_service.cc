#include "tests/client/fake_service.h"

#include <poll.h>
#include <unistd.h>

#include <cstring>

#include "ipc/codec.h"

namespace webnn::test {

webnnd::Result<std::unique_ptr<ipc::Channel>> FakeService::Connect() {
  if (refuse_) return webnnd::NotSupportedError("the fake service refuses");
  ++connections_;
  ASSIGN_OR_RETURN(auto pair, ipc::MakeMemoryChannelPair());
  channel_ = std::move(pair.second);
  reader_ = std::make_unique<ipc::FrameReader>(*channel_);
  return std::move(pair.first);
}

std::optional<ipc::ClientMessage> FakeService::Next(int timeout_ms) {
  while (true) {
    auto frame = reader_->Next();
    EXPECT_TRUE(frame.ok());
    if (frame->has_value()) {
      auto message = ipc::DecodeClientMessage(**frame, reader_->descriptors());
      if (!message.ok()) {
        ADD_FAILURE() << "the client breaks the protocol: " << message.error().message;
        return std::nullopt;
      }
      return std::move(*message);
    }
    pollfd entry{.fd = channel_->read_descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&entry, 1, timeout_ms) != 1) return std::nullopt;
    auto state = reader_->Fill();
    EXPECT_TRUE(state.ok());
    if (*state == ipc::ChannelState::kClosed && !reader_->HasPartialFrame()) return std::nullopt;
  }
}

void FakeService::Greet() {
  auto hello = Expect<ipc::Hello>();
  EXPECT_EQ(hello.schema_hash, ipc::CurrentSchemaHash());
  ASSERT_TRUE(ipc::CheckSealedMemfd(hello.up_arena.get(), hello.up_bytes).ok());
  ASSERT_TRUE(ipc::CheckSealedMemfd(hello.down_arena.get(), hello.down_bytes).ok());
  auto up = ipc::SharedMapping::Map(hello.up_arena.get(), hello.up_bytes,
                                    ipc::SharedMapping::Access::kRead);
  auto down = ipc::SharedMapping::Map(hello.down_arena.get(), hello.down_bytes,
                                      ipc::SharedMapping::Access::kReadWrite);
  ASSERT_TRUE(up.ok() && down.ok());
  up_ = std::move(*up);
  down_ = std::move(*down);
}

void FakeService::Send(ipc::ServiceMessage message) {
  SendBytes(ipc::Encode(std::move(message)).bytes);
}

void FakeService::SendBytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto sent = channel_->Send(bytes, {});
    if (sent.state == ipc::ChannelState::kClosed) return;
    bytes = bytes.subspan(sent.bytes);
    pollfd entry{.fd = channel_->write_descriptor(), .events = POLLOUT, .revents = 0};
    if (!bytes.empty()) poll(&entry, 1, 5000);
  }
}

std::vector<std::byte> FakeService::Read(const ipc::Payload& payload) {
  if (const auto* in = std::get_if<ipc::InlinePayload>(&payload)) return in->bytes;
  if (const auto* range = std::get_if<ipc::ArenaPayload>(&payload)) {
    auto bytes = up_.Range(range->offset, range->length);
    EXPECT_TRUE(bytes.ok());
    return {bytes->begin(), bytes->end()};
  }
  const auto& file = std::get<ipc::FilePayload>(payload);
  EXPECT_TRUE(ipc::CheckFileRange(file.file.get(), file.offset, file.length).ok());
  std::vector<std::byte> bytes(file.length);
  EXPECT_EQ(pread(file.file.get(), bytes.data(), bytes.size(), static_cast<off_t>(file.offset)),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

void FakeService::Answer(ipc::ReadTensor& read, std::span<const std::byte> bytes) {
  ipc::TensorRead answer{read.request, std::nullopt, bytes.size(), {}};
  if (std::holds_alternative<ipc::InlineDestination>(read.destination)) {
    answer.bytes.assign(bytes.begin(), bytes.end());
  } else if (const auto* range = std::get_if<ipc::ArenaDestination>(&read.destination)) {
    auto room = down_.Range(range->offset, range->length);
    ASSERT_TRUE(room.ok());
    std::memcpy(room->data(), bytes.data(), bytes.size());
  } else {
    const auto& file = std::get<ipc::FileDestination>(read.destination);
    ASSERT_TRUE(ipc::CheckSealedMemfd(file.file.get(), file.length).ok());
    ASSERT_EQ(pwrite(file.file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  Send(std::move(answer));
}

std::shared_ptr<Context> ClientTest::MakeContext(const ContextOptions& options) {
  const int connections = service_.connections();
  auto future = ml_->CreateContext(options);
  if (service_.connections() > connections) service_.Greet();
  auto create = service_.Expect<ipc::CreateContext>();
  service_.Send(ipc::ContextCreated{create.context, std::nullopt, false, "fake", kTensorBytesMax});
  auto context = ml_->Wait(future);
  EXPECT_TRUE(context.ok());
  return *context;
}

std::shared_ptr<Tensor> ClientTest::MakeTensor(Context& context, TensorDescriptor descriptor) {
  auto future = context.CreateTensor(descriptor);
  auto create = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::TensorCreated{create.tensor, std::nullopt});
  auto tensor = ml_->Wait(future);
  EXPECT_TRUE(tensor.ok());
  return *tensor;
}

std::shared_ptr<Tensor> ClientTest::MakeConstantTensor(Context& context, uint32_t elements) {
  auto future = context.CreateConstantTensor(OperandDataType::kFloat32, {elements},
                                             std::vector<std::byte>(4 * elements));
  auto create = service_.Expect<ipc::CreateConstantTensor>();
  service_.Send(ipc::TensorCreated{create.tensor, std::nullopt});
  auto tensor = ml_->Wait(future);
  EXPECT_TRUE(tensor.ok());
  return *tensor;
}

std::shared_ptr<Graph> ClientTest::MakeAddGraph(std::shared_ptr<Context> context,
                                                uint32_t elements) {
  GraphBuilder builder(std::move(context));
  auto a = builder.Input("a", OperandDataType::kFloat32, {elements});
  auto b = builder.Input("b", OperandDataType::kFloat32, {elements});
  auto sum = builder.Add(*a, *b);
  EXPECT_TRUE(sum.ok());
  auto future = builder.Build({{"sum", *sum}});
  service_.Expect<ipc::CreateBuilder>();
  service_.Expect<ipc::AddInputs>();
  service_.Expect<ipc::AddOperators>();
  auto build = service_.Expect<ipc::Build>();
  service_.Send(ipc::GraphBuilt{build.graph, std::nullopt, 1});
  auto graph = ml_->Wait(future);
  EXPECT_TRUE(graph.ok());
  return *graph;
}

std::vector<std::byte> Pattern(size_t bytes, uint8_t seed) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::byte>((i * 31 + (i >> 8) * 7 + seed) & 0xff);
  }
  return out;
}

}  // namespace webnn::test
