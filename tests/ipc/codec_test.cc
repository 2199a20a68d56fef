// That messages come out of the codec as they went in, and how large they are.
#include "ipc/codec.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "base/limits.h"
#include "tests/ipc/codec_fixture.h"
#include "tests/ipc/sample_messages.h"

namespace webnnd::ipc {
namespace {

// --- Comparing messages field by field

auto Fields(const Hello& m) {
  return std::tie(m.schema_hash, m.up_arena, m.up_bytes, m.down_arena, m.down_bytes);
}
auto Fields(const CreateContext& m) {
  return std::tie(m.context, m.power_preference, m.accelerated, m.fusion, m.constant_folding);
}
auto Fields(const DestroyContext& m) { return std::tie(m.context); }
auto Fields(const CreateTensor& m) {
  return std::tie(m.context, m.tensor, m.descriptor, m.readable, m.writable);
}
auto Fields(const CreateConstantTensor& m) {
  return std::tie(m.context, m.tensor, m.descriptor, m.data);
}
auto Fields(const DestroyTensor& m) { return std::tie(m.tensor); }
auto Fields(const WriteTensor& m) { return std::tie(m.tensor, m.data); }
auto Fields(const ReadTensor& m) { return std::tie(m.tensor, m.request, m.destination); }
auto Fields(const CreateBuilder& m) { return std::tie(m.context, m.builder); }
auto Fields(const DestroyBuilder& m) { return std::tie(m.builder); }
auto Fields(const AddInputs& m) { return std::tie(m.builder, m.inputs); }
auto Fields(const AddConstant& m) { return std::tie(m.builder, m.operand, m.descriptor, m.data); }
auto Fields(const AddConstantTensor& m) { return std::tie(m.builder, m.operand, m.tensor); }
auto Fields(const AddOperators& m) { return std::tie(m.builder, m.operators); }
auto Fields(const Build& m) { return std::tie(m.builder, m.graph, m.inputs, m.outputs); }
auto Fields(const DestroyGraph& m) { return std::tie(m.graph); }
auto Fields(const Dispatch& m) { return std::tie(m.graph, m.inputs, m.outputs); }
auto Fields(const CreateBinding& m) { return std::tie(m.binding, m.graph, m.inputs, m.outputs); }
auto Fields(const DestroyBinding& m) { return std::tie(m.binding); }
auto Fields(const DispatchBinding& m) { return std::tie(m.binding); }
auto Fields(const ResizeTensor& m) { return std::tie(m.tensor, m.shape); }
auto Fields(const Goodbye& m) { return std::tie(m.message); }
auto Fields(const ContextCreated& m) {
  return std::tie(m.context, m.error, m.accelerated, m.device_name, m.max_tensor_byte_length);
}
auto Fields(const ContextLost& m) { return std::tie(m.context, m.message); }
auto Fields(const TensorCreated& m) { return std::tie(m.tensor, m.error); }
auto Fields(const GraphBuilt& m) { return std::tie(m.graph, m.error, m.kernel_count); }
auto Fields(const TensorRead& m) { return std::tie(m.request, m.error, m.length, m.bytes); }
auto Fields(const Acknowledge& m) { return std::tie(m.sequence); }

auto Fields(const InlinePayload& p) { return std::tie(p.bytes); }
auto Fields(const ArenaPayload& p) { return std::tie(p.offset, p.length, p.sequence); }
auto Fields(const FilePayload& p) { return std::tie(p.file, p.offset, p.length); }
auto Fields(const InlineDestination&) { return std::tuple<>(); }
auto Fields(const ArenaDestination& d) { return std::tie(d.offset, d.length); }
auto Fields(const FileDestination& d) { return std::tie(d.file, d.length); }

template <class T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(const UniqueFd& a, const UniqueFd& b) {
  struct stat stat_a {};
  struct stat stat_b {};
  return a.valid() == b.valid() &&
         (!a.valid() || (fstat(a.get(), &stat_a) == 0 && fstat(b.get(), &stat_b) == 0 &&
                         stat_a.st_ino == stat_b.st_ino));
}
template <class... Ts>
bool Same(const std::variant<Ts...>& a, const std::variant<Ts...>& b);

template <class Tuple, size_t... kIs>
std::vector<bool> SameEach(const Tuple& a, const Tuple& b, std::index_sequence<kIs...>) {
  return {Same(std::get<kIs>(a), std::get<kIs>(b))...};
}
// Per field, whether it is the same in both.
template <class M>
std::vector<bool> SameFields(const M& a, const M& b) {
  auto fields_a = Fields(a);
  auto fields_b = Fields(b);
  return SameEach(fields_a, fields_b,
                  std::make_index_sequence<std::tuple_size_v<decltype(fields_a)>>());
}
template <class... Ts>
bool Same(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        auto same = SameFields(value, std::get<std::decay_t<decltype(value)>>(b));
        return std::find(same.begin(), same.end(), false) == same.end();
      },
      a);
}

// --- Round trips

template <class Message>
class CodecTest : public testing::Test {};
TYPED_TEST_SUITE(CodecTest, Directions);

TYPED_TEST(CodecTest, RoundTrip_KeepsEveryField) {
  auto originals = Codec<TypeParam>::Samples();
  auto samples = Codec<TypeParam>::Samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    auto decoded = Decode<TypeParam>(Encode(std::move(samples[i])));
    ASSERT_TRUE(decoded.ok()) << "sample " << i << ": " << decoded.error().message;
    using Variant = typename TypeParam::variant;
    const Variant& original = originals[i];
    EXPECT_TRUE(Same(static_cast<const Variant&>(*decoded), original)) << "sample " << i;
  }
}

TYPED_TEST(CodecTest, Samples_HaveEveryTypeAndNoFieldAtItsDefault) {
  std::set<size_t> seen;
  for (const TypeParam& sample : Codec<TypeParam>::Samples()) {
    if (!seen.insert(sample.index()).second) continue;
    std::visit(
        [&](const auto& message) {
          for (bool same : SameFields(message, std::decay_t<decltype(message)>())) {
            EXPECT_FALSE(same) << "type " << sample.index();
          }
        },
        sample);
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<typename TypeParam::variant>);
}

TEST(Codec, Operators_RoundTripInEveryFilling) {
  for (Filling filling : kFillings) {
    for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
      webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), filling);
      auto decoded = Decode(Encode(AddOperators{{1, 1}, {op}}));
      ASSERT_TRUE(decoded.ok()) << decoded.error().message;
      EXPECT_EQ(std::get<AddOperators>(*decoded).operators, std::vector<webidl::Operator>{op})
          << webidl::OperatorName(op.kind);
    }
  }
}

TEST(Codec, Descriptors_TravelInTheOrderOfTheFields) {
  Hello hello{CurrentSchemaHash(), MakeSampleFile(), limits::kArenaBytesMin, MakeSampleFile(),
              limits::kArenaBytesMin};
  UniqueFd up = hello.up_arena.Duplicate();
  UniqueFd down = hello.down_arena.Duplicate();
  auto decoded = Decode(Encode(std::move(hello)));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(Same(std::get<Hello>(*decoded).up_arena, up));
  EXPECT_TRUE(Same(std::get<Hello>(*decoded).down_arena, down));
  EXPECT_FALSE(Same(up, down));
}

TEST(Codec, Descriptors_OfLaterMessagesStay) {
  Frame frame = Encode(WriteTensor{{2, 1}, Payload(FilePayload{MakeSampleFile(), 0, 1})});
  std::deque<UniqueFd> descriptors;
  descriptors.push_back(std::move(frame.descriptors[0]));
  descriptors.push_back(MakeSampleFile());
  ASSERT_TRUE(Decode<ClientMessage>(frame.bytes, descriptors).ok());
  EXPECT_EQ(descriptors.size(), 1u);
}

TEST(Codec, EncodedBytesMax_IsABound) {
  for (Filling filling : kFillings) {
    for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
      webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), filling);
      size_t empty = Encode(AddOperators{{1, 1}, {}}).bytes.size();
      size_t one = Encode(AddOperators{{1, 1}, {op}}).bytes.size();
      EXPECT_LE(one - empty, EncodedBytesMax(op));
    }
  }
  webidl::OperandDataType type = webidl::OperandDataType::kFloat32;
  std::vector<GraphInput> inputs = {
      {1, "", {type, {}}},
      {1, std::string(512, 'x'), {type, std::vector<webidl::Dimension>(64, 5u)}},
      {1, "x", {type, {webidl::DynamicDimension{std::string(512, 'n'), 2, 1}}}}};
  for (const GraphInput& input : inputs) {
    size_t empty = Encode(AddInputs{{1, 1}, {}}).bytes.size();
    EXPECT_LE(Encode(AddInputs{{1, 1}, {input}}).bytes.size() - empty, EncodedBytesMax(input));
  }
}

TEST(Codec, Encode_AFullChunkOfTheLargestOperators_FitsIntoAFrame) {
  webidl::Operator op = MakeOperator(webidl::OperatorKind::kConcat, Filling::kFull);
  op.operands.assign(limits::kOperandsPerOperatorMax, 1);
  op.label.assign(limits::kLabelBytesMax, 'l');
  AddOperators message{{1, 1}, {}};
  size_t bytes = 0;
  while (message.operators.size() < limits::kOperatorsPerChunk &&
         bytes + EncodedBytesMax(op) <= kChunkBytesMax) {
    bytes += EncodedBytesMax(op);
    message.operators.push_back(op);
  }
  size_t count = message.operators.size();
  EXPECT_GT(count, 200u);
  auto decoded = Decode(Encode(std::move(message)));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(std::get<AddOperators>(*decoded).operators.size(), count);
}

TEST(Codec, Encode_CutsTextsOfErrorsToTheLimits) {
  std::string long_text(limits::kErrorTextBytesMax - 1, 'x');
  long_text += "é and more";
  auto decoded = Decode<ServiceMessage>(Encode(ServiceMessage(Goodbye{long_text})));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(std::get<Goodbye>(*decoded).message, std::string(limits::kErrorTextBytesMax - 1, 'x'));

  Error error(Cause::kInternal, "not UTF-8 \xff.");
  for (uint32_t i = 0; i < 2 * limits::kErrorContextMax; ++i) error.AddContext(long_text);
  decoded = Decode<ServiceMessage>(Encode(ServiceMessage(TensorCreated{{1, 1}, error})));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  const Error& got = *std::get<TensorCreated>(*decoded).error;
  EXPECT_EQ(got.message(), "not UTF-8 ?.");
  EXPECT_EQ(got.context().size(), limits::kErrorContextMax);
}

TEST(Codec, Dispatch_IsSmall) {
  // Header, root pointer, union, struct; then 8 bytes a tensor.
  EXPECT_EQ(Encode(Dispatch{{1, 1}, {{2, 1}}, {{3, 1}}}).bytes.size(), 72u);
  EXPECT_LT(Encode(DispatchBinding{{1, 1}}).bytes.size(), 64u);
}

TEST(Codec, SchemaHash_IsThere) { EXPECT_NE(CurrentSchemaHash(), SchemaHash{}); }

}  // namespace
}  // namespace webnnd::ipc
