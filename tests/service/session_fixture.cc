#include "tests/service/session_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace webnnd::service {

UniqueFd TemporaryFile(std::span<const float> values) {
  UniqueFd file(open(testing::TempDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_TRUE(file.valid());
  EXPECT_EQ(write(file.get(), values.data(), values.size_bytes()),
            static_cast<ssize_t>(values.size_bytes()));
  return file;
}

void Peer::Open() {
  client_.Greet();
  context_ = NewHandle();
  Send(ipc::CreateContext{.context = context_});
  auto created = client_.Expect<ipc::ContextCreated>();
  EXPECT_EQ(created.context, context_);
  EXPECT_FALSE(created.error.has_value()) << created.error->ToString();
}

Handle Peer::MakeTensor(uint32_t elements) {
  Handle tensor = NewHandle();
  Send(ipc::CreateTensor{context_, tensor, ipc::Floats(elements), /*readable=*/true,
                         /*writable=*/true});
  auto created = client_.Expect<ipc::TensorCreated>();
  EXPECT_EQ(created.tensor, tensor);
  EXPECT_FALSE(created.error.has_value()) << created.error->ToString();
  return tensor;
}

void Peer::Write(Handle tensor, const std::vector<float>& values) {
  Send(ipc::WriteTensor{tensor, ipc::InlineFloats(values)});
}

ipc::TensorRead Peer::Read(Handle tensor, ipc::Destination destination) {
  uint64_t request = next_request_++;
  Send(ipc::ReadTensor{tensor, request, std::move(destination)});
  auto read = client_.Expect<ipc::TensorRead>();
  EXPECT_EQ(read.request, request);
  return read;
}

std::vector<float> Peer::ReadFloats(Handle tensor) {
  auto read = Read(tensor);
  EXPECT_FALSE(read.error.has_value()) << read.error->ToString();
  return ipc::ToFloats(read.bytes);
}

Error Peer::ReadError(Handle tensor) {
  auto read = Read(tensor);
  EXPECT_TRUE(read.error.has_value()) << "the read succeeds";
  EXPECT_TRUE(read.bytes.empty());
  return read.error.value_or(InternalError("the read succeeds"));
}

Handle Peer::MakeBuilder() {
  Handle builder = NewHandle();
  Send(ipc::CreateBuilder{context_, builder});
  Send(ipc::AddInputs{builder,
                      {{1, "a", ipc::Floats(kElements)}, {2, "b", ipc::Floats(kElements)}}});
  return builder;
}

webidl::Operator Peer::Binary(webidl::OperatorKind kind, uint32_t a, uint32_t b, uint32_t result) {
  return {kind, {a, b}, {result}, "", webidl::NoAttributes{}};
}

void Peer::AddOperators(Handle builder, std::vector<webidl::Operator> operators) {
  Send(ipc::AddOperators{builder, std::move(operators)});
}

ipc::GraphBuilt Peer::Build(Handle builder, Handle graph, std::vector<uint32_t> inputs,
                            std::vector<ipc::GraphOutput> outputs) {
  Send(ipc::Build{builder, graph, std::move(inputs), std::move(outputs)});
  auto built = client_.Expect<ipc::GraphBuilt>();
  EXPECT_EQ(built.graph, graph);
  return built;
}

Handle Peer::MakeAddGraph() {
  Handle builder = MakeBuilder();
  AddOperators(builder, {Binary(webidl::OperatorKind::kAdd, 1, 2, 3)});
  Handle graph = NewHandle();
  auto built = Build(builder, graph, {1, 2}, {{"sum", 3}});
  EXPECT_FALSE(built.error.has_value()) << built.error->ToString();
  EXPECT_EQ(built.kernel_count, 1u);
  return graph;
}

void Peer::ExpectWorks() {
  Handle graph = MakeAddGraph();
  Handle a = MakeTensor();
  Handle b = MakeTensor();
  Handle sum = MakeTensor();
  Write(a, {1, 2, 3, 4});
  Write(b, {10, 20, 30, 40});
  Dispatch(graph, {a, b}, {sum});
  EXPECT_EQ(ReadFloats(sum), (std::vector<float>{11, 22, 33, 44}));
  for (Handle tensor : {a, b, sum}) Send(ipc::DestroyTensor{tensor});
  Send(ipc::DestroyGraph{graph});
}

void SessionTest::SetUp() {
  ServiceTest::SetUp();
  bystander_ = std::make_unique<Peer>(host());
  bystander_->Open();
  peer_ = std::make_unique<Peer>(host());
  peer_->Open();
}

void SessionTest::TearDown() {
  bystander_->ExpectWorks();
  peer_.reset();
  bystander_.reset();
  ServiceTest::TearDown();
}

void SessionTest::ExpectEnds(Peer& peer, const std::string& text) {
  EXPECT_THAT(peer.client().ExpectGoodbye(), testing::HasSubstr(text));
}

void SessionTest::ExpectDeviceBytesReturnTo(int64_t bytes) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (DeviceBytesMore() != bytes && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(DeviceBytesMore(), bytes);
}

}  // namespace webnnd::service
