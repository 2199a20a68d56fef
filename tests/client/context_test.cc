#include "client/context.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/limits.h"
#include "client/webnn.h"
#include "tests/client/fake_service.h"

namespace webnn::test {
namespace {

namespace limits = webnnd::limits;
using webnnd::UniqueFd;

class ContextTest : public ClientTest {
 protected:
  void SetUp() override { context_ = MakeContext(); }
  void TearDown() override { context_ = nullptr; }
  std::shared_ptr<Context> context_;
};

// --- Creation -----------------------------------------------------------------------------------

TEST_F(ContextTest, Created_TellsWhatTheServiceSaid) {
  EXPECT_FALSE(context_->accelerated());
  EXPECT_EQ(context_->device_name(), "fake");
  EXPECT_EQ(context_->op_support_limits().max_tensor_byte_length, kTensorBytesMax);
  EXPECT_FALSE(context_->op_support_limits().operators.empty());
  EXPECT_FALSE(context_->is_lost());
  EXPECT_FALSE(context_->lost().ready());
}

TEST_F(ContextTest, Options_ReachTheService) {
  auto future = ml_->CreateContext({.power_preference = PowerPreference::kLowPower,
                                    .accelerated = false,
                                    .fusion = false,
                                    .constant_folding = false});
  auto create = service_.Expect<ipc::CreateContext>();
  EXPECT_EQ(create.power_preference, PowerPreference::kLowPower);
  EXPECT_FALSE(create.accelerated || create.fusion || create.constant_folding);
}

TEST_F(ContextTest, CreationRefused_RejectsAndFreesTheHandle) {
  auto future = ml_->CreateContext();
  auto create = service_.Expect<ipc::CreateContext>();
  ipc::ContextCreated answer{};
  answer.context = create.context;
  answer.error = webnnd::NotSupportedError("no adapter fits");
  service_.Send(answer);
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kNotSupported);
  EXPECT_EQ(service_.Expect<ipc::DestroyContext>().context, create.context);
  future = ml_->CreateContext();
  auto again = service_.Expect<ipc::CreateContext>();
  EXPECT_EQ(again.context.index, create.context.index);
  EXPECT_GT(again.context.generation, create.context.generation);
}

TEST_F(ContextTest, TooManyContexts_AreRefused) {
  std::vector<std::shared_ptr<Context>> contexts;
  while (contexts.size() + 1 < limits::kContextsPerSessionMax) contexts.push_back(MakeContext());
  EXPECT_EQ(ErrorOf(ml_->CreateContext()).cause(), Cause::kQuota);
  contexts.pop_back();
  service_.Expect<ipc::DestroyContext>();
  contexts.push_back(MakeContext());
}

TEST_F(ContextTest, LastReferenceGone_DestroysItAndCompletesLost) {
  auto lost = context_->lost();
  context_ = nullptr;
  service_.Expect<ipc::DestroyContext>();
  EXPECT_FALSE(lost.ready());
  auto info = ml_->Wait(lost);
  EXPECT_NE(info->message.find("last reference"), std::string::npos);
}

// --- Tensors ------------------------------------------------------------------------------------

TEST_F(ContextTest, CreateTensor_SendsTheDescriptor) {
  auto future = context_->CreateTensor({OperandDataType::kInt32, {2, 3}, true, false});
  auto create = service_.Expect<ipc::CreateTensor>();
  EXPECT_EQ(create.descriptor.data_type, OperandDataType::kInt32);
  EXPECT_EQ(create.descriptor.dimensions,
            (std::vector<webnnd::webidl::Dimension>{uint32_t{2}, uint32_t{3}}));
  EXPECT_TRUE(create.readable);
  EXPECT_FALSE(create.writable);
  ml_->ProcessEvents();
  EXPECT_FALSE(future.ready());
  service_.Send(ipc::TensorCreated{create.tensor, std::nullopt});
  auto tensor = ml_->Wait(future);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ((*tensor)->shape(), (Shape{2, 3}));
  EXPECT_TRUE((*tensor)->readable());
  EXPECT_FALSE((*tensor)->writable());
  EXPECT_FALSE((*tensor)->constant());
}

TEST_F(ContextTest, CreateTensorThatTheServiceRefuses_RejectsAndDestroysTheErrorObject) {
  auto future = context_->CreateTensor(Float32(4));
  auto create = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::TensorCreated{create.tensor, webnnd::OutOfMemoryError("no memory")});
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kOutOfMemory);
  EXPECT_EQ(service_.Expect<ipc::DestroyTensor>().tensor, create.tensor);
}

TEST_F(ContextTest, RefusalByTheService_IsNoTypeError) {
  auto future = context_->CreateTensor(Float32(4));
  auto create = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::TensorCreated{create.tensor, webnnd::ValidationError("it is odd")});
  const Error error = ErrorOf(ml_->Wait(future));
  EXPECT_EQ(error.message(), "it is odd");
  EXPECT_EQ(ExceptionName(Method::kCreateTensor, error.cause()), "UnknownError");

  service_.Expect<ipc::DestroyTensor>();
  auto tensor = MakeTensor(*context_, Float32(1));
  auto read = context_->ReadTensor(*tensor);
  auto asked = service_.Expect<ipc::ReadTensor>();
  service_.Send(ipc::TensorRead{asked.request, webnnd::ValidationError("it is odd"), 0, {}});
  EXPECT_EQ(ExceptionName(Method::kReadTensor, ErrorOf(ml_->Wait(read)).cause()), "UnknownError");

  auto context = ml_->CreateContext();
  ipc::ContextCreated answer{};
  answer.context = service_.Expect<ipc::CreateContext>().context;
  answer.error = webnnd::ValidationError("it is odd");
  service_.Send(answer);
  EXPECT_EQ(ExceptionName(Method::kCreateContext, ErrorOf(ml_->Wait(context)).cause()),
            "NotSupportedError");
}

TEST_F(ContextTest, CreateTensorWithBadDescriptor_RejectsAtOnce) {
  for (const Shape& shape : {Shape{0}, Shape(9, 1), Shape{1u << 30, 1u << 30}, Shape{1u << 26}}) {
    auto future = context_->CreateTensor({OperandDataType::kFloat32, shape});
    EXPECT_EQ(ErrorOf(future).cause(), Cause::kValidation);
  }
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, TensorBeyondTheDevicesLimit_RejectsAtOnce) {
  const auto elements = static_cast<uint32_t>(kTensorBytesMax / 4);
  EXPECT_EQ(ErrorOf(context_->CreateTensor(Float32(elements + 1))).cause(), Cause::kValidation);
  auto future = context_->CreateTensor(Float32(elements));
  service_.Expect<ipc::CreateTensor>();
}

TEST_F(ContextTest, CreateConstantTensor_BringsTheBytes) {
  for (uint32_t elements : {4u, 5000u, 5u << 20}) {
    const auto data = Pattern(4 * elements);
    auto future = context_->CreateConstantTensor(OperandDataType::kFloat32, Shape{elements}, data);
    auto create = service_.Expect<ipc::CreateConstantTensor>();
    EXPECT_EQ(service_.Read(create.data), data);
    service_.Send(ipc::TensorCreated{create.tensor, std::nullopt});
    auto tensor = ml_->Wait(future);
    ASSERT_TRUE(tensor.ok());
    EXPECT_TRUE((*tensor)->constant());
    EXPECT_FALSE((*tensor)->readable() || (*tensor)->writable());
    *tensor = nullptr;
    future = {};
    service_.Expect<ipc::DestroyTensor>();
  }
}

TEST_F(ContextTest, CreateConstantTensorOfPackedType_TakesHalfABytePerElement) {
  auto future = context_->CreateConstantTensor(OperandDataType::kInt4, Shape{5}, Pattern(3));
  EXPECT_EQ(service_.Read(service_.Expect<ipc::CreateConstantTensor>().data), Pattern(3));
  EXPECT_EQ(
      ErrorOf(context_->CreateConstantTensor(OperandDataType::kInt4, Shape{5}, Pattern(5))).cause(),
      Cause::kValidation);
}

TEST_F(ContextTest, CreateConstantTensorWithWrongSize_RejectsAtOnce) {
  auto future = context_->CreateConstantTensor(OperandDataType::kFloat32, Shape{4}, Pattern(15));
  EXPECT_EQ(ErrorOf(future).cause(), Cause::kValidation);
  EXPECT_TRUE(service_.IsQuiet());
}

UniqueFd TemporaryFile(const std::vector<std::byte>& bytes) {
  std::string path = testing::TempDir() + "constantXXXXXX";
  UniqueFd file(mkstemp(path.data()));
  unlink(path.c_str());
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST_F(ContextTest, CreateConstantTensorFromFile_HandsTheFileOver) {
  const auto bytes = Pattern(100);
  UniqueFd file = TemporaryFile(bytes);
  auto future =
      context_->CreateConstantTensorFromFile(OperandDataType::kFloat32, {20}, file.get(), 12);
  file.Reset();  // It was duplicated.
  auto create = service_.Expect<ipc::CreateConstantTensor>();
  ASSERT_TRUE(std::holds_alternative<ipc::FilePayload>(create.data));
  EXPECT_EQ(service_.Read(create.data),
            std::vector<std::byte>(bytes.begin() + 12, bytes.begin() + 92));
}

TEST_F(ContextTest, CreateConstantTensorFromBadFile_RejectsAtOnce) {
  UniqueFd file = TemporaryFile(Pattern(100));
  UniqueFd directory(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 100), 0);
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  UniqueFd read_end(pipes[0]), write_end(pipes[1]);
  const auto create = [&](int fd, uint64_t offset) {
    return ErrorOf(
               context_->CreateConstantTensorFromFile(OperandDataType::kFloat32, {20}, fd, offset))
        .cause();
  };
  EXPECT_EQ(create(file.get(), 21), Cause::kValidation);               // Beyond its end.
  EXPECT_EQ(create(file.get(), UINT64_MAX - 10), Cause::kValidation);  // Overflows.
  EXPECT_EQ(create(directory.get(), 0), Cause::kValidation);
  EXPECT_EQ(create(read_end.get(), 0), Cause::kValidation);
  EXPECT_EQ(create(unsealed.get(), 0), Cause::kValidation);
  EXPECT_EQ(create(-1, 0), Cause::kValidation);
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, RepliesInAnyOrder_ReachTheirFutures) {
  auto first = context_->CreateTensor(Float32(1));
  auto second = context_->CreateTensor(Float32(2));
  auto one = service_.Expect<ipc::CreateTensor>();
  auto two = service_.Expect<ipc::CreateTensor>();
  std::vector<int> order;
  first.Then([&](const auto&) { order.push_back(1); });
  second.Then([&](const auto&) { order.push_back(2); });
  service_.Send(ipc::TensorCreated{two.tensor, std::nullopt});
  service_.Send(ipc::TensorCreated{one.tensor, std::nullopt});
  EXPECT_EQ((*ml_->Wait(first))->shape(), Shape{1});
  EXPECT_EQ((*ml_->Wait(second))->shape(), Shape{2});
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST_F(ContextTest, RepliesForUnknownRequests_AreIgnored) {
  service_.Send(ipc::TensorCreated{{99, 1}, std::nullopt});
  service_.Send(ipc::GraphBuilt{{98, 3}, std::nullopt, 1});
  service_.Send(ipc::TensorRead{12345, std::nullopt, 4, Pattern(4)});
  service_.Send(ipc::ContextCreated{{97, 1}, std::nullopt, true, "x", 1});
  service_.Send(ipc::ContextLost{{96, 1}, "x"});
  MakeTensor(*context_, Float32(4));
  EXPECT_FALSE(context_->is_lost());
}

TEST_F(ContextTest, DestroyedTensor_FreesItsIndexForAGreaterGeneration) {
  auto future = context_->CreateTensor(Float32(1));
  auto first = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::TensorCreated{first.tensor, std::nullopt});
  auto tensor = *ml_->Wait(future);
  tensor->Destroy();
  tensor->Destroy();
  EXPECT_TRUE(tensor->destroyed());
  EXPECT_EQ(service_.Expect<ipc::DestroyTensor>().tensor, first.tensor);
  tensor = nullptr;
  auto again = context_->CreateTensor(Float32(1));
  auto second = service_.Expect<ipc::CreateTensor>();
  EXPECT_EQ(second.tensor.index, first.tensor.index);
  EXPECT_GT(second.tensor.generation, first.tensor.generation);
}

// --- Write and read -----------------------------------------------------------------------------

TEST_F(ContextTest, WriteTensor_BringsTheBytes) {
  auto tensor = MakeTensor(*context_, Float32(4));
  const auto data = Pattern(16);
  ASSERT_TRUE(context_->WriteTensor(*tensor, data).ok());
  EXPECT_EQ(service_.Read(service_.Expect<ipc::WriteTensor>().data), data);
}

TEST_F(ContextTest, GraphIsSent_GivesTheUploadsMemoryBack) {
  auto tensor = MakeTensor(*context_, Float32(10000));
  const auto data = Pattern(40000);
  ASSERT_TRUE(context_->WriteTensor(*tensor, data).ok());
  const auto write = service_.Expect<ipc::WriteTensor>();
  EXPECT_EQ(service_.Read(write.data), data);
  GraphBuilder builder(context_);
  auto a = builder.Input("a", OperandDataType::kFloat32, {4});
  auto built = builder.Build({{"sum", *builder.Add(*a, *a)}});
  EXPECT_EQ(service_.Read(write.data), data);
  // The graph is not there yet.
  service_.Send(ipc::Acknowledge{1});
  const std::vector<std::byte> zeros(data.size());
  for (int i = 0; i < 5000 && service_.Read(write.data) != zeros; ++i) usleep(1000);
  EXPECT_EQ(service_.Read(write.data), zeros);
}

TEST_F(ContextTest, WriteTensorThatBreaksARule_IsRefused) {
  auto other = MakeContext();
  auto tensor = MakeTensor(*context_, Float32(4));
  auto constant = MakeConstantTensor(*context_, 4);
  auto closed = MakeTensor(*context_, {OperandDataType::kFloat32, {4}, true, false});
  const auto data = Pattern(16);
  EXPECT_EQ(ErrorOf(other->WriteTensor(*tensor, data)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*closed, data)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*constant, data)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*tensor, Pattern(15))).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*tensor, Pattern(17))).cause(), Cause::kValidation);
  tensor->Destroy();
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*tensor, data)).cause(), Cause::kValidation);
  service_.Expect<ipc::DestroyTensor>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, ReadTensor_ComesBackByEveryWay) {
  // Inline, through the arena, and by a memfd because it is larger than the arena.
  for (uint32_t elements : {16u, 5000u, 5u << 20}) {
    auto tensor = MakeTensor(*context_, Float32(elements));
    auto future = context_->ReadTensor(*tensor);
    std::vector<std::byte> buffer(4 * elements);
    auto into = context_->ReadTensor(*tensor, buffer);
    const auto one = Pattern(4 * elements, 1), two = Pattern(4 * elements, 2);
    auto first = service_.Expect<ipc::ReadTensor>();
    auto second = service_.Expect<ipc::ReadTensor>();
    service_.Answer(second, two);
    service_.Answer(first, one);
    EXPECT_EQ(*ml_->Wait(future), one);
    EXPECT_TRUE(ml_->Wait(into).ok());
    EXPECT_EQ(buffer, two);
    tensor = nullptr;
    service_.Expect<ipc::DestroyTensor>();
  }
}

TEST_F(ContextTest, ReadTensorThatFails_Rejects) {
  auto tensor = MakeTensor(*context_, Float32(5000));
  auto future = context_->ReadTensor(*tensor);
  auto read = service_.Expect<ipc::ReadTensor>();
  service_.Send(ipc::TensorRead{read.request, webnnd::InternalError("it is poisoned"), 0, {}});
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).message(), "it is poisoned");
  // The range is free again.
  auto again = context_->ReadTensor(*tensor);
  auto second = service_.Expect<ipc::ReadTensor>();
  EXPECT_EQ(std::get<ipc::ArenaDestination>(second.destination).offset,
            std::get<ipc::ArenaDestination>(read.destination).offset);
}

TEST_F(ContextTest, ReadTensorThatBreaksARule_IsRefused) {
  auto other = MakeContext();
  auto tensor = MakeTensor(*context_, Float32(4));
  auto closed = MakeTensor(*context_, {OperandDataType::kFloat32, {4}, false, true});
  std::vector<std::byte> small(15), large(17), right(16);
  EXPECT_EQ(ErrorOf(other->ReadTensor(*tensor)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*closed)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*closed, right)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*tensor, small)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*tensor, large)).cause(), Cause::kValidation);
  tensor->Destroy();
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*tensor)).cause(), Cause::kValidation);
  service_.Expect<ipc::DestroyTensor>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, TensorDestroyedWhileItIsRead_RejectsInProcessEvents) {
  auto tensor = MakeTensor(*context_, Float32(5000));
  auto future = context_->ReadTensor(*tensor);
  auto read = service_.Expect<ipc::ReadTensor>();
  tensor->Destroy();
  EXPECT_FALSE(future.ready());
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kInvalidState);
  service_.Expect<ipc::DestroyTensor>();
  // Until it answers, the service may write to the range: nobody else gets it.
  auto next = MakeTensor(*context_, Float32(5000));
  auto second = context_->ReadTensor(*next);
  auto other = service_.Expect<ipc::ReadTensor>();
  const auto offset = std::get<ipc::ArenaDestination>(read.destination).offset;
  EXPECT_NE(std::get<ipc::ArenaDestination>(other.destination).offset, offset);
  service_.Answer(read, Pattern(20000));
  service_.Answer(other, Pattern(20000, 9));
  EXPECT_EQ(*ml_->Wait(second), Pattern(20000, 9));
  auto third = context_->ReadTensor(*next);
  EXPECT_EQ(std::get<ipc::ArenaDestination>(service_.Expect<ipc::ReadTensor>().destination).offset,
            offset);
}

TEST_F(ContextTest, LastReferenceGoneWhileItIsRead_TheReadCompletes) {
  auto tensor = MakeTensor(*context_, Float32(4));
  auto future = context_->ReadTensor(*tensor);
  tensor = nullptr;
  auto read = service_.Expect<ipc::ReadTensor>();
  EXPECT_TRUE(service_.IsQuiet());
  service_.Answer(read, Pattern(16));
  EXPECT_EQ(*ml_->Wait(future), Pattern(16));
  service_.Expect<ipc::DestroyTensor>();
}

TEST_F(ContextTest, ReadAnsweredWithAnotherLength_LosesTheConnection) {
  auto tensor = MakeTensor(*context_, Float32(4));
  auto future = context_->ReadTensor(*tensor);
  auto read = service_.Expect<ipc::ReadTensor>();
  service_.Send(ipc::TensorRead{read.request, std::nullopt, 12, Pattern(12)});
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kDeviceLost);
  EXPECT_NE(ml_->Wait(context_->lost())->message.find("broke the protocol"), std::string::npos);
}

TEST_F(ContextTest, ServiceDoesNotRead_CallsFailWithQuotaThenGoOn) {
  auto tensor = MakeTensor(*context_, Float32(1000));
  auto graph = MakeAddGraph(context_, 1000);
  auto out = MakeTensor(*context_, Float32(1000));
  auto in = MakeTensor(*context_, Float32(1000));
  const auto data = Pattern(4000);
  uint64_t accepted = 0;
  while (context_->WriteTensor(*tensor, data).ok()) ++accepted;
  EXPECT_GE(accepted * 4000, limits::kClientQueueBytesMax * 9 / 10);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*tensor, data)).cause(), Cause::kQuota);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*tensor)).cause(), Cause::kQuota);
  EXPECT_EQ(ErrorOf(context_->CreateTensor(Float32(1))).cause(), Cause::kQuota);
  EXPECT_EQ(ErrorOf(context_->Dispatch(*graph, {{"a", tensor}, {"b", in}}, {{"sum", out}})).cause(),
            Cause::kQuota);
  EXPECT_EQ(ErrorOf(ml_->CreateContext()).cause(), Cause::kQuota);
  out->Destroy();  // Never refused.
  for (uint64_t i = 0; i < accepted; ++i) {
    ASSERT_TRUE(std::holds_alternative<ipc::WriteTensor>(*service_.Next(5000)));
  }
  service_.Expect<ipc::DestroyTensor>();
  ASSERT_TRUE(context_->WriteTensor(*tensor, data).ok());
  service_.Expect<ipc::WriteTensor>();
}

// --- Dispatch -----------------------------------------------------------------------------------

TEST_F(ContextTest, Dispatch_SendsTensorsInTheGraphsOrder) {
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  ASSERT_TRUE(context_->Dispatch(*graph, {{"b", b}, {"a", a}}, {{"sum", sum}}).ok());
  auto created = service_.Expect<ipc::CreateBinding>();
  ASSERT_EQ(created.inputs.size(), 2u);
  ASSERT_EQ(created.outputs.size(), 1u);
  EXPECT_EQ(service_.Expect<ipc::DispatchBinding>().binding, created.binding);
  ASSERT_TRUE(context_->WriteTensor(*a, Pattern(16)).ok());
  EXPECT_EQ(service_.Expect<ipc::WriteTensor>().tensor, created.inputs[0]);
  EXPECT_EQ(graph->kernel_count(), 1u);
}

TEST_F(ContextTest, SecondDispatch_NamesNoTensorAgain) {
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  ASSERT_TRUE(context_->Dispatch(*graph, {{"a", a}, {"b", b}}, {{"sum", sum}}).ok());
  const auto first = service_.Expect<ipc::CreateBinding>().binding;
  service_.Expect<ipc::DispatchBinding>();
  ASSERT_TRUE(context_->Dispatch(*graph, {{"a", a}, {"b", b}}, {{"sum", sum}}).ok());
  EXPECT_EQ(service_.Expect<ipc::DispatchBinding>().binding, first);
  ASSERT_TRUE(context_->Dispatch(*graph, {{"a", b}, {"b", a}}, {{"sum", sum}}).ok());
  const auto other = service_.Expect<ipc::CreateBinding>().binding;
  EXPECT_EQ(service_.Expect<ipc::DispatchBinding>().binding, other);
  EXPECT_FALSE(other == first);
  // What names a tensor that is gone goes before it.
  a->Destroy();
  service_.Expect<ipc::DestroyBinding>();
  service_.Expect<ipc::DestroyBinding>();
  service_.Expect<ipc::DestroyTensor>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, WithoutTheCache_EachDispatchNamesItsTensors) {
  auto context = MakeContext({.binding_cache = false});
  auto graph = MakeAddGraph(context, 4);
  auto a = MakeTensor(*context, Float32(4));
  auto b = MakeTensor(*context, Float32(4));
  auto sum = MakeTensor(*context, Float32(4));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(context->Dispatch(*graph, {{"a", a}, {"b", b}}, {{"sum", sum}}).ok());
    EXPECT_EQ(service_.Expect<ipc::Dispatch>().inputs.size(), 2u);
  }
}

// --- Bindings -----------------------------------------------------------------------------------

TEST_F(ContextTest, Binding_IsMadeOnceAndDispatchedByItsHandle) {
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  // One tensor is an input and the output.
  auto binding = context_->Bind(*graph, {{"a", a}, {"b", b}}, {{"sum", a}});
  ASSERT_TRUE(binding.ok()) << binding.error().ToString();
  const auto created = service_.Expect<ipc::CreateBinding>();
  EXPECT_EQ(created.inputs[0], created.outputs[0]);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(context_->Dispatch(**binding).ok());
    EXPECT_EQ(service_.Expect<ipc::DispatchBinding>().binding, created.binding);
  }
  (*binding)->Destroy();
  (*binding)->Destroy();
  EXPECT_EQ(service_.Expect<ipc::DestroyBinding>().binding, created.binding);
  EXPECT_EQ(ErrorOf(context_->Dispatch(**binding)).cause(), Cause::kInvalidState);
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, BindThatBreaksARule_IsRefused) {
  auto other = MakeContext();
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  auto large = MakeTensor(*context_, Float32(5));
  auto constant = MakeConstantTensor(*context_, 4);
  const auto refused = [&](Context& context, const NamedTensors& in, const NamedTensors& out) {
    return ErrorOf(context.Bind(*graph, in, out)).cause();
  };
  EXPECT_EQ(refused(*other, {{"a", a}, {"b", b}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", a}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", large}}, {{"sum", large}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", constant}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}}, {{"sum", a}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"c", b}}, {{"sum", a}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", nullptr}}, {{"sum", a}}), Cause::kValidation);
  graph->Destroy();
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", b}}, {{"sum", sum}}), Cause::kInvalidState);
  service_.Expect<ipc::DestroyGraph>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, BindingOfWhatIsDestroyed_IsRefused) {
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  auto first = context_->Bind(*graph, {{"a", a}, {"b", b}}, {{"sum", sum}});
  auto second = context_->Bind(*graph, {{"a", a}, {"b", b}}, {{"sum", a}});
  ASSERT_TRUE(first.ok() && second.ok());
  sum->Destroy();
  EXPECT_EQ(ErrorOf(context_->Dispatch(**first)).cause(), Cause::kValidation);
  ASSERT_TRUE(context_->Dispatch(**second).ok());
  graph->Destroy();
  EXPECT_EQ(ErrorOf(context_->Dispatch(**second)).cause(), Cause::kInvalidState);
  context_->Destroy();
  EXPECT_EQ(ErrorOf(context_->Dispatch(**second)).cause(), Cause::kInvalidState);
  EXPECT_TRUE((*second)->destroyed());
}

TEST_F(ContextTest, AliasOfUnlikeEndpoints_NamesBoth) {
  GraphBuilder builder(context_);
  auto a = *builder.Input("a", OperandDataType::kFloat32, {4});
  auto b = *builder.Input("b", OperandDataType::kFloat32, {2, 4});
  auto future = builder.Build({{"sum", *builder.Add(a, b)}});
  service_.Expect<ipc::CreateBuilder>();
  service_.Expect<ipc::AddInputs>();
  service_.Expect<ipc::AddOperators>();
  service_.Send(ipc::GraphBuilt{service_.Expect<ipc::Build>().graph, std::nullopt, 1});
  auto graph = *ml_->Wait(future);
  auto x = MakeTensor(*context_, Float32(4));
  auto y = MakeTensor(*context_, {OperandDataType::kFloat32, {2, 4}});
  const Error error = ErrorOf(context_->Bind(*graph, {{"a", x}, {"b", y}}, {{"sum", x}}));
  EXPECT_EQ(error.cause(), Cause::kValidation);
  EXPECT_THAT(error.message(), testing::HasSubstr("input \"a\""));
  EXPECT_THAT(error.message(), testing::HasSubstr("output \"sum\""));
  EXPECT_TRUE(context_->Bind(*graph, {{"a", x}, {"b", y}}, {{"sum", y}}).ok());
}

TEST_F(ContextTest, DispatchThatBreaksARule_IsRefused) {
  auto other = MakeContext();
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  auto large = MakeTensor(*context_, Float32(5));
  auto integer = MakeTensor(*context_, {OperandDataType::kInt32, {4}});
  auto foreign = MakeTensor(*other, Float32(4));
  auto constant = MakeConstantTensor(*context_, 4);
  const auto refused = [&](Context& context, const NamedTensors& in, const NamedTensors& out) {
    return ErrorOf(context.Dispatch(*graph, in, out)).cause();
  };
  EXPECT_EQ(refused(*other, {{"a", a}, {"b", b}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", a}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", b}}, {{"sum", a}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", foreign}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", constant}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", large}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", integer}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"c", b}}, {{"sum", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", b}}, {}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", b}}, {{"total", sum}}), Cause::kValidation);
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", nullptr}}, {{"sum", sum}}), Cause::kValidation);
  b->Destroy();
  EXPECT_EQ(refused(*context_, {{"a", a}, {"b", b}}, {{"sum", sum}}), Cause::kValidation);
  service_.Expect<ipc::DestroyTensor>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, DispatchOfDestroyedGraph_IsInvalidState) {
  auto graph = MakeAddGraph(context_, 4);
  auto a = MakeTensor(*context_, Float32(4));
  auto b = MakeTensor(*context_, Float32(4));
  auto sum = MakeTensor(*context_, Float32(4));
  graph->Destroy();
  graph->Destroy();
  service_.Expect<ipc::DestroyGraph>();
  EXPECT_EQ(ErrorOf(context_->Dispatch(*graph, {{"a", a}, {"b", b}}, {{"sum", sum}})).cause(),
            Cause::kInvalidState);
}

// --- The end ------------------------------------------------------------------------------------

TEST_F(ContextTest, Destroy_RejectsWhatIsPendingInOrderAndCompletesLostFirst) {
  auto tensor = MakeTensor(*context_, Float32(4));
  auto read = context_->ReadTensor(*tensor);
  auto creation = context_->CreateTensor(Float32(4));
  auto second_read = context_->ReadTensor(*tensor);
  std::vector<std::string> order;
  const auto note = [&order](const char* name) {
    return [&order, name](const auto& result) {
      order.push_back(name);
      if (std::string(name) != "lost") {
        EXPECT_EQ(ErrorOf(result).cause(), Cause::kInvalidState);
      }
    };
  };
  context_->lost().Then(note("lost"));
  creation.Then(note("creation"));
  second_read.Then(note("second read"));
  read.Then(note("read"));
  service_.Expect<ipc::ReadTensor>();
  service_.Expect<ipc::CreateTensor>();
  service_.Expect<ipc::ReadTensor>();
  context_->Destroy();
  context_->Destroy();
  EXPECT_TRUE(context_->is_lost());
  EXPECT_TRUE(order.empty()) << "callbacks run in ProcessEvents";
  ml_->ProcessEvents();
  EXPECT_EQ(order, (std::vector<std::string>{"lost", "read", "creation", "second read"}));
  EXPECT_TRUE(tensor->destroyed());
  service_.Expect<ipc::DestroyTensor>();
  service_.Expect<ipc::DestroyTensor>();
  service_.Expect<ipc::DestroyContext>();
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(ContextTest, LostContext_RefusesEverything) {
  auto tensor = MakeTensor(*context_, Float32(4));
  auto out = MakeTensor(*context_, Float32(4));
  auto in = MakeTensor(*context_, Float32(4));
  auto graph = MakeAddGraph(context_, 4);
  context_->Destroy();
  EXPECT_EQ(ErrorOf(context_->CreateTensor(Float32(1))).cause(), Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(context_->CreateConstantTensor(OperandDataType::kUint8, Shape{1}, Pattern(1)))
                .cause(),
            Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(context_->WriteTensor(*tensor, Pattern(16))).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->ReadTensor(*tensor)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->Dispatch(*graph, {{"a", tensor}, {"b", in}}, {{"sum", out}})).cause(),
            Cause::kInvalidState);
}

TEST_F(ContextTest, LostByTheService_TakesOnlyThatContext) {
  auto other = MakeContext();
  auto tensor = MakeTensor(*other, Float32(4));
  auto pending = context_->CreateTensor(Float32(4));
  auto create = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::ContextLost{create.context, "the device is gone"});
  EXPECT_EQ(ml_->Wait(context_->lost())->message, "the device is gone");
  EXPECT_EQ(ErrorOf(ml_->Wait(pending)).cause(), Cause::kDeviceLost);
  EXPECT_FALSE(other->is_lost());
  EXPECT_FALSE(tensor->destroyed());
  service_.Expect<ipc::DestroyTensor>();
  service_.Expect<ipc::DestroyContext>();
  ASSERT_TRUE(other->WriteTensor(*tensor, Pattern(16)).ok());
  service_.Expect<ipc::WriteTensor>();
}

TEST_F(ContextTest, Bytes_AreThoseOfTheConnection) {
  const uint64_t sent = context_->bytes_sent(), received = context_->bytes_received();
  MakeTensor(*context_, Float32(4));
  EXPECT_GT(context_->bytes_sent(), sent);
  EXPECT_GT(context_->bytes_received(), received);
}

}  // namespace
}  // namespace webnn::test
