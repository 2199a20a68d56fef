// What the codec refuses: frames of a hostile sender, each wrong in one thing, and random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/limits.h"
#include "ipc/codec.h"
#include "tests/ipc/codec_fixture.h"
#include "tests/ipc/random.h"
#include "tests/ipc/sample_messages.h"

namespace webnnd::ipc {
namespace {

template <class Message>
class DecodeTest : public testing::Test {};
TYPED_TEST_SUITE(DecodeTest, Directions);

// Writes segments word by word, as the encoding of Cap'n Proto has them.
class Segment {
 public:
  Segment& Word(uint64_t word) {
    words_.push_back(word);
    return *this;
  }
  // `offset` counts words from the end of this one to the struct.
  Segment& Struct(uint32_t offset, uint16_t data_words, uint16_t pointers) {
    return Word(static_cast<uint64_t>(offset) << 2 | static_cast<uint64_t>(data_words) << 32 |
                static_cast<uint64_t>(pointers) << 48);
  }
  // Element size codes: 0 void, 2 byte, 4 four bytes, 5 eight bytes, 6 pointer, 7 composite, where
  // `count` counts words.
  Segment& List(uint32_t offset, uint32_t code, uint32_t count) {
    return Word(1 | static_cast<uint64_t>(offset) << 2 | static_cast<uint64_t>(code) << 32 |
                static_cast<uint64_t>(count) << 35);
  }
  // The first word of a composite list: how many elements of which shape.
  Segment& ElementTag(uint32_t count, uint16_t data_words, uint16_t pointers) {
    return Struct(count, data_words, pointers);
  }
  Segment& Words(size_t count, uint64_t word) {
    words_.insert(words_.end(), count, word);
    return *this;
  }
  Segment& Append(const std::vector<uint64_t>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
    return *this;
  }

  std::vector<std::byte> Bytes() const {
    std::vector<std::byte> bytes(kFrameHeaderBytes + words_.size() * 8);
    auto count = static_cast<uint32_t>(words_.size());
    std::memcpy(bytes.data() + 4, &count, sizeof(count));
    std::memcpy(bytes.data() + kFrameHeaderBytes, words_.data(), words_.size() * 8);
    return bytes;
  }

 private:
  std::vector<uint64_t> words_;
};

// The root: the union's tag, and a pointer to a struct right behind.
Segment Message(uint16_t tag, uint16_t data_words, uint16_t pointers) {
  return Segment().Struct(0, 1, 1).Word(tag).Struct(0, data_words, pointers);
}

constexpr uint16_t kTagCreateContext = 1;
constexpr uint16_t kTagAddOperators = 13;
constexpr uint16_t kTagDispatch = 16;
constexpr uint64_t kHandle = (1ull << 32) | 5;

template <class M = ClientMessage>
std::string Refusal(std::span<const std::byte> frame) {
  std::deque<UniqueFd> descriptors;
  for (int i = 0; i < 2; ++i) descriptors.push_back(MakeSampleFile());
  auto decoded = Decode<M>(frame, descriptors);
  return decoded.ok() ? "accepted" : decoded.error().message;
}

using testing::AssertionResult;

AssertionResult Contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

// Overwrites the 16-bit words in which two encodings differ.
std::vector<std::byte> PatchWhereDifferent(const Frame& a, const Frame& b, uint16_t value) {
  std::vector<std::byte> bytes = a.bytes;
  EXPECT_EQ(a.bytes.size(), b.bytes.size());
  int patched = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    if (a.bytes[i] == b.bytes[i] && a.bytes[i + 1] == b.bytes[i + 1]) continue;
    std::memcpy(bytes.data() + i, &value, sizeof(value));
    ++patched;
  }
  EXPECT_EQ(patched, 1);
  return bytes;
}

TEST(Decode, HandWrittenMessages_AreUnderstood) {
  // The tests below write messages by hand; this one shows that they are wrong only in one thing.
  auto dispatch = Message(kTagDispatch, 1, 2).Word(kHandle).List(1, 5, 1).List(1, 5, 1);
  dispatch.Word(kHandle).Word(kHandle);
  EXPECT_EQ(Refusal(dispatch.Bytes()), "accepted");
  EXPECT_EQ(dispatch.Bytes(), Encode(Dispatch{{5, 1}, {{5, 1}}, {{5, 1}}}).bytes);
  EXPECT_EQ(Refusal(Message(kTagCreateContext, 2, 0).Word(kHandle).Word(0).Bytes()), "accepted");
}

TEST(Decode, WrongLength_IsBadMessage) {
  std::vector<std::byte> frame = Encode(DestroyGraph{{1, 1}}).bytes;
  for (size_t length = 0; length < frame.size(); ++length) {
    EXPECT_NE(Refusal(std::span(frame).first(length)), "accepted") << length;
  }
  frame.resize(frame.size() + 8);
  EXPECT_TRUE(Contains(Refusal(frame), "not as long as its header says"));
}

TYPED_TEST(DecodeTest, TruncatedSegment_NeverReadsBeyond) {
  for (TypeParam& sample : Codec<TypeParam>::Samples()) {
    Frame frame = Encode(std::move(sample));
    for (uint32_t words = 1; words * 8 + 8 < frame.bytes.size(); words += words > 300 ? 97 : 1) {
      std::vector<std::byte> cut(frame.bytes.begin(), frame.bytes.begin() + 8 + words * 8);
      std::memcpy(cut.data() + 4, &words, sizeof(words));
      // The root and its message lie in front: what is cut off is missed.
      EXPECT_NE(Refusal<TypeParam>(cut), "accepted");
    }
  }
}

TEST(Decode, SegmentTable_MoreThanOneOrNothing_IsBadMessage) {
  std::vector<std::byte> frame = Encode(DestroyGraph{{1, 1}}).bytes;
  frame[0] = std::byte{1};
  EXPECT_TRUE(Contains(Refusal(frame), "more than one segment"));
  EXPECT_TRUE(Contains(Refusal(std::vector<std::byte>(8)), "no words"));
  std::vector<std::byte> oversized = Segment().Words(limits::kFrameBytesMax / 8, 0).Bytes();
  EXPECT_TRUE(Contains(Refusal(oversized), "larger than the limit"));
}

TEST(Decode, PointersToNowhere_AreBadMessage) {
  EXPECT_TRUE(Contains(Refusal(Segment().Struct(1000, 1, 1).Bytes()), "malformed"));
  EXPECT_TRUE(Contains(Refusal(Segment().Word(0x7fffffff00000002).Bytes()), "malformed"));
  auto far = Message(kTagDispatch, 1, 2).Word(kHandle).Word(2 | 1ull << 32).Word(0);
  EXPECT_TRUE(Contains(Refusal(far.Bytes()), "malformed"));
  auto wrong_kind = Message(kTagDispatch, 1, 2).Word(kHandle).Struct(1, 1, 0).Word(0).Word(0);
  EXPECT_TRUE(Contains(Refusal(wrong_kind.Bytes()), "malformed"));
}

TEST(Decode, UnknownTag_IsBadMessage) {
  EXPECT_TRUE(Contains(Refusal(Message(21, 1, 0).Word(kHandle).Bytes()), "tag (21) is unknown"));
  EXPECT_TRUE(Contains(Refusal<ServiceMessage>(Message(7, 1, 0).Word(kHandle).Bytes()),
                       "tag (7) is unknown"));
  // The tags of a payload and of a destination.
  EXPECT_TRUE(Contains(Refusal(PatchWhereDifferent(
                           Encode(ReadTensor{{2, 1}, 3, Destination(InlineDestination{})}),
                           Encode(ReadTensor{{2, 1}, 3, Destination(ArenaDestination{})}), 3)),
                       "tag (3) is unknown"));
  EXPECT_TRUE(
      Contains(Refusal(PatchWhereDifferent(
                   Encode(WriteTensor{{2, 1}, Payload(ArenaPayload{0, 0, 0})}),
                   Encode(WriteTensor{{2, 1}, Payload(FilePayload{MakeSampleFile(), 0, 0})}), 9)),
               "tag (9) is unknown"));
}

TEST(Decode, UnknownEnum_IsBadMessage) {
  auto context = [](webidl::PowerPreference power) { return Encode(CreateContext{{1, 1}, power}); };
  EXPECT_TRUE(Contains(Refusal(PatchWhereDifferent(context(webidl::PowerPreference::kDefault),
                                                   context(webidl::PowerPreference::kLowPower), 3)),
                       "value (3) is unknown"));

  auto tensor = [](webidl::OperandDataType type) {
    return Encode(CreateTensor{{1, 1}, {2, 1}, {type, {}}});
  };
  EXPECT_TRUE(
      Contains(Refusal(PatchWhereDifferent(tensor(webidl::OperandDataType::kFloat32),
                                           tensor(webidl::OperandDataType::kUint4), 0xffff)),
               "(65535) is unknown"));

  auto op = [](webidl::OperatorKind kind) {
    return Encode(AddOperators{{1, 1}, {MakeOperator(kind, Filling::kDefault)}});
  };
  EXPECT_TRUE(Contains(
      Refusal(PatchWhereDifferent(op(webidl::OperatorKind::kAdd), op(webidl::OperatorKind::kSub),
                                  static_cast<uint16_t>(webidl::kOperatorKindCount))),
      "(95) is unknown"));

  auto failed = [](Cause cause) {
    return Encode(ServiceMessage(TensorCreated{{2, 1}, Error(cause, "x")}));
  };
  EXPECT_TRUE(Contains(Refusal<ServiceMessage>(
                           PatchWhereDifferent(failed(Cause::kQuota), failed(Cause::kInternal), 7)),
                       "value (7) is unknown"));
}

TEST(Decode, AttributesOfAnotherOperator_AreBadMessage) {
  auto gather = [](webidl::OperatorKind kind) {
    webidl::Operator op = MakeOperator(kind, Filling::kDefault);
    return Encode(AddOperators{{1, 1}, {op}});
  };
  EXPECT_TRUE(
      Contains(Refusal(PatchWhereDifferent(gather(webidl::OperatorKind::kGather),
                                           gather(webidl::OperatorKind::kGatherElements),
                                           static_cast<uint16_t>(webidl::OperatorKind::kAdd))),
               "of another operator"));
}

// --- Attributes of operators, each spoilt in turn.

void SetAttributes(webidl::Operator& op, auto&& visitor) {
  std::visit([&](auto& attributes) { VisitFields(attributes, visitor); }, op.attributes);
}

// Gives the n-th enum among the attributes a value that it does not have.
class EnumSpoiler {
 public:
  explicit EnumSpoiler(int nth) : rest_(nth) {}
  void operator()(const char*, auto& field) { Visit(field); }
  bool found() const { return rest_ < 0; }

 private:
  void Visit(auto& field) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>) {
      if (rest_-- == 0) field = static_cast<std::decay_t<decltype(field)>>(255);
    }
  }
  template <class T>
  void Visit(std::vector<T>& list) {
    for (T& value : list) Visit(value);
  }
  template <class T>
  void Visit(std::optional<T>& field) {
    if (field) Visit(*field);
  }

  int rest_;
};

TEST(Decode, UnknownEnumsOfAttributes_AreBadMessage) {
  int spoilt = 0;
  for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
    for (int nth = 0;; ++nth) {
      webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), Filling::kFull);
      EnumSpoiler spoiler(nth);
      SetAttributes(op, spoiler);
      if (!spoiler.found()) break;
      EXPECT_TRUE(Contains(Refusal(Encode(AddOperators{{1, 1}, {op}}).bytes), "(255) is unknown"))
          << webidl::OperatorName(op.kind) << " " << nth;
      ++spoilt;
    }
  }
  EXPECT_GT(spoilt, 20);
}

// Gives the n-th list among the attributes as many entries as it may have.
class ListFiller {
 public:
  explicit ListFiller(int nth) : rest_(nth) {}
  void operator()(const char*, auto& field) { Visit(field); }
  bool found() const { return rest_ < 0; }

 private:
  void Visit(auto&) {}
  void Visit(webidl::Sizes& sizes) {
    if (rest_-- == 0) sizes = webidl::Shape(limits::kAttributeListMax, 0);
  }
  template <class T>
  void Visit(std::vector<T>& list) {
    if (rest_-- == 0) list.assign(limits::kAttributeListMax, T());
  }
  template <class T>
  void Visit(std::optional<T>& field) {
    if (field) Visit(*field);
  }
  void Visit(std::variant<uint32_t, std::vector<uint32_t>>& field) {
    if (auto* list = std::get_if<1>(&field)) Visit(*list);
  }

  int rest_;
};

// Makes the one list of `count` entries in a frame say that it has one more.
std::vector<std::byte> WithOneMoreEntry(std::vector<std::byte> frame, uint32_t count) {
  std::vector<uint64_t> words(frame.size() / 8 - 1);
  std::memcpy(words.data(), frame.data() + kFrameHeaderBytes, words.size() * 8);
  int patched = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool is_list = (words[i] & 3) == 1;
    const bool is_composite = is_list && (words[i] >> 32 & 7) == 7;
    if (is_list && !is_composite && words[i] >> 35 == count) {
      words[i] += 1ull << 35;
      ++patched;
    }
    const size_t tag = i + 1 + (static_cast<uint32_t>(words[i]) >> 2);
    if (!is_composite || tag >= words.size()) continue;
    const uint64_t entry_words = (words[tag] >> 32 & 0xffff) + (words[tag] >> 48);
    if (static_cast<uint32_t>(words[tag]) >> 2 != count || words[i] >> 35 != count * entry_words) {
      continue;
    }
    words[i] += entry_words << 35;
    words[tag] += 1 << 2;
    ++patched;
  }
  EXPECT_EQ(patched, 1);
  return Segment().Append(words).Words(4, 0).Bytes();
}

TEST(Decode, ListsOfAttributesTooLong_AreBadMessage) {
  int filled = 0;
  for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
    for (int nth = 0;; ++nth) {
      webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), Filling::kFull);
      ListFiller filler(nth);
      SetAttributes(op, filler);
      if (!filler.found()) break;
      std::vector<std::byte> frame = Encode(AddOperators{{1, 1}, {op}}).bytes;
      EXPECT_EQ(Refusal(frame), "accepted");
      EXPECT_TRUE(Contains(Refusal(WithOneMoreEntry(frame, limits::kAttributeListMax)),
                           "a list (1025) exceeds the maximum (1024)"))
          << webidl::OperatorName(op.kind) << " " << nth;
      ++filled;
    }
  }
  EXPECT_GT(filled, 20);
}

// How many unions the attributes take on the wire.
class AlternativeCounter {
 public:
  void operator()(const char*, auto& field) { Visit(field); }
  int count() const { return count_; }

 private:
  void Visit(auto&) {}
  void Visit(webidl::Number&) { ++count_; }
  void Visit(webidl::Sizes& sizes) { count_ += static_cast<int>(sizes.size()); }
  template <class T>
  void Visit(std::optional<T>& field) {
    ++count_;
    if (field) Visit(*field);
  }
  void Visit(std::variant<uint32_t, std::vector<uint32_t>>&) { ++count_; }

  int count_ = 0;
};

TEST(Decode, UnknownAlternativesOfAttributes_AreBadMessage) {
  for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
    webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), Filling::kFull);
    AlternativeCounter alternatives;
    SetAttributes(op, alternatives);
    const Frame frame = Encode(AddOperators{{1, 1}, {op}});
    int refused = 0;
    for (size_t i = kFrameHeaderBytes; i < frame.bytes.size(); i += 2) {
      std::vector<std::byte> bytes = frame.bytes;
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(i), 2, std::byte{0xff});
      std::deque<UniqueFd> none;
      auto decoded = Decode<ClientMessage>(bytes, none);
      if (decoded.ok()) continue;
      refused += Contains(decoded.error().message, "the alternative (65535) is unknown") ? 1 : 0;
    }
    // Those of its fields, and the one that says whose attributes they are.
    EXPECT_EQ(refused, alternatives.count() + 1) << webidl::OperatorName(op.kind);
  }
}

// Every handle of every message, replaced by none.
TYPED_TEST(DecodeTest, HandleOfNone_IsBadMessage) {
  int replaced = 0;
  for (TypeParam& sample : Codec<TypeParam>::Samples()) {
    Frame frame = Encode(std::move(sample));
    for (size_t i = kFrameHeaderBytes; i < frame.bytes.size(); i += 8) {
      uint32_t generation = 0;
      std::memcpy(&generation, frame.bytes.data() + i + 4, sizeof(generation));
      if (generation != kSampleGeneration) continue;
      std::vector<std::byte> bytes = frame.bytes;
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(i), 4, std::byte{0});
      EXPECT_TRUE(Contains(Refusal<TypeParam>(bytes), "handle is none"));
      ++replaced;
    }
  }
  EXPECT_EQ(replaced, (std::is_same_v<TypeParam, ClientMessage> ? 42 : 7));
}

TEST(Decode, OperandIdOfNone_IsBadMessage) {
  WireDescriptor scalar;
  EXPECT_TRUE(Contains(Refusal(Encode(AddInputs{{1, 1}, {{0, "x", scalar}}}).bytes), "id is none"));
  EXPECT_TRUE(
      Contains(Refusal(Encode(AddConstant{{1, 1}, 0, scalar, Payload(InlinePayload{})}).bytes),
               "id is none"));
  EXPECT_TRUE(Contains(Refusal(Encode(AddConstantTensor{{1, 1}, 0, {2, 1}}).bytes), "id is none"));
  EXPECT_TRUE(Contains(Refusal(Encode(Build{{1, 1}, {2, 1}, {0}, {}}).bytes), "id is none"));
  EXPECT_TRUE(Contains(Refusal(Encode(Build{{1, 1}, {2, 1}, {}, {{"y", 0}}}).bytes), "id is none"));
}

TEST(Decode, MissingDescriptor_IsBadMessage) {
  for (ClientMessage& sample : SampleClientMessages()) {
    Frame frame = Encode(std::move(sample));
    size_t needed = frame.descriptors.size();
    for (size_t given = 0; given < needed; ++given) {
      std::deque<UniqueFd> descriptors;
      for (size_t i = 0; i < given; ++i) descriptors.push_back(MakeSampleFile());
      auto decoded = Decode<ClientMessage>(frame.bytes, descriptors);
      ASSERT_FALSE(decoded.ok());
      EXPECT_TRUE(Contains(decoded.error().message, "without its descriptor"));
    }
  }
}

TEST(Decode, Hello_ArenasOutsideTheLimits_AreBadMessage) {
  auto hello = [](uint64_t up, uint64_t down) {
    return Encode(Hello{CurrentSchemaHash(), MakeSampleFile(), up, MakeSampleFile(), down}).bytes;
  };
  EXPECT_EQ(Refusal(hello(limits::kArenaBytesMin, limits::kArenaBytesMax)), "accepted");
  EXPECT_TRUE(Contains(Refusal(hello(limits::kArenaBytesMin - 1, limits::kArenaBytesMax)),
                       "outside the limits"));
  EXPECT_TRUE(Contains(Refusal(hello(limits::kArenaBytesMin, limits::kArenaBytesMax + 1)),
                       "outside the limits"));
}

TEST(Decode, Hello_HashOfAnotherLength_IsBadMessage) {
  constexpr uint16_t kTagHello = 0;
  auto hello = [](uint32_t hash_bytes) {
    uint64_t arena = limits::kArenaBytesMin;
    return Message(kTagHello, 2, 1).Word(arena).Word(arena).List(0, 2, hash_bytes).Words(5, 0);
  };
  EXPECT_EQ(Refusal(hello(32).Bytes()), "accepted");
  EXPECT_TRUE(Contains(Refusal(hello(31).Bytes()), "schema hash"));
  EXPECT_TRUE(Contains(Refusal(hello(33).Bytes()), "schema hash"));
  EXPECT_TRUE(Contains(Refusal(hello(0).Bytes()), "schema hash"));
}

TEST(Decode, ArenaPayload_WithoutSequence_IsBadMessage) {
  EXPECT_TRUE(Contains(Refusal(Encode(WriteTensor{{2, 1}, Payload(ArenaPayload{0, 64, 0})}).bytes),
                       "no sequence"));
}

TEST(Decode, ListTooLong_IsBadMessage) {
  auto dispatch = [](uint32_t inputs) {
    return Message(kTagDispatch, 1, 2)
        .Word(kHandle)
        .List(1, 5, inputs)
        .Word(0)
        .Words(inputs, kHandle);
  };
  EXPECT_EQ(Refusal(dispatch(limits::kGraphEndpointsMax).Bytes()), "accepted");
  EXPECT_TRUE(
      Contains(Refusal(dispatch(limits::kGraphEndpointsMax + 1).Bytes()), "longer than the limit"));

  auto operators = [](uint32_t count) {
    auto segment = Message(kTagAddOperators, 1, 1).Word(kHandle).List(0, 7, count);
    return segment.ElementTag(count, 1, 0).Words(count, 0);
  };
  EXPECT_EQ(Refusal(operators(limits::kOperatorsPerChunk).Bytes()), "accepted");
  EXPECT_TRUE(Contains(Refusal(operators(limits::kOperatorsPerChunk + 1).Bytes()),
                       "longer than the limit"));

  auto resize = [](uint32_t rank) {
    return Encode(ResizeTensor{{2, 1}, webidl::Shape(rank, 1)}).bytes;
  };
  EXPECT_EQ(Refusal(resize(limits::kRankMax)), "accepted");
  EXPECT_TRUE(Contains(Refusal(resize(limits::kRankMax + 1)), "longer than the limit"));

  constexpr uint32_t kDimensionsMax = 64;
  std::vector<std::byte> tensor =
      Encode(CreateTensor{{1, 1}, {2, 1}, {{}, std::vector<webidl::Dimension>(kDimensionsMax, 1u)}})
          .bytes;
  EXPECT_EQ(Refusal(tensor), "accepted");
  EXPECT_TRUE(Contains(Refusal(WithOneMoreEntry(tensor, kDimensionsMax)), "exceeds the maximum"));

  TensorRead read{7};
  read.bytes.resize(limits::kInlinePayloadBytesMax);
  std::vector<std::byte> answer = Encode(ServiceMessage(std::move(read))).bytes;
  EXPECT_EQ(Refusal<ServiceMessage>(answer), "accepted");
  EXPECT_TRUE(
      Contains(Refusal<ServiceMessage>(WithOneMoreEntry(answer, limits::kInlinePayloadBytesMax)),
               "inline payload (4097 bytes)"));
}

TEST(Decode, Amplification_IsBadMessage) {
  // A list of structs without size claims any number of entries for a word.
  for (uint32_t count : {1000u, 1u << 20, 0x1fffffffu}) {
    auto empty_structs =
        Message(kTagAddOperators, 1, 1).Word(kHandle).List(0, 7, 0).ElementTag(count, 0, 0);
    EXPECT_TRUE(Contains(Refusal(empty_structs.Bytes()), "malformed"));
    auto voids = Message(kTagAddOperators, 1, 1).Word(kHandle).List(0, 0, count);
    EXPECT_NE(Refusal(voids.Bytes()), "accepted");
  }
  // Many pointers to one label: each counts anew.
  constexpr uint32_t kOperators = 200;
  constexpr uint32_t kPointers = 4;
  constexpr uint32_t kLabelPointer = 2;
  auto shared = Message(kTagAddOperators, 1, 1)
                    .Word(kHandle)
                    .List(0, 7, kOperators * (1 + kPointers))
                    .ElementTag(kOperators, 1, kPointers);
  for (uint32_t i = 0; i < kOperators; ++i) {
    shared.Word(0);
    for (uint32_t p = 0; p < kPointers; ++p) {
      uint32_t words_left = (kOperators - i - 1) * (1 + kPointers) + kPointers - p - 1;
      if (p == kLabelPointer) {
        shared.List(words_left, 2, 512);
      } else {
        shared.Word(0);
      }
    }
  }
  shared.Words(63, 0x6161616161616161).Word(0x0061616161616161);
  EXPECT_TRUE(Contains(Refusal(shared.Bytes()), "malformed"));
}

TEST(Decode, DeepNesting_IsHarmless) {
  // Pointers to structs of one pointer, a hundred thousand deep, where a tensor list belongs.
  auto deep = Message(kTagDispatch, 1, 2).Word(kHandle).Struct(1, 0, 1).Word(0);
  for (int i = 0; i < 100000; ++i) deep.Struct(0, 0, 1);
  deep.Word(0);
  EXPECT_TRUE(Contains(Refusal(deep.Bytes()), "malformed"));
  // A struct that contains itself.
  auto loop = Message(kTagAddOperators, 1, 1).Word(kHandle).Word(0xfffffffc | 1ull << 48);
  EXPECT_TRUE(Contains(Refusal(loop.Bytes()), "malformed"));
}

TEST(Decode, Name_TooLongOrNotUtf8_IsBadMessage) {
  auto input = [](std::string name) {
    return Encode(AddInputs{{1, 1}, {{1, std::move(name), {}}}}).bytes;
  };
  EXPECT_EQ(Refusal(input(std::string(limits::kNameBytesMax, 'n'))), "accepted");
  EXPECT_TRUE(Contains(Refusal(input(std::string(limits::kNameBytesMax + 1, 'n'))), "longer"));
  EXPECT_TRUE(Contains(Refusal(input("\xc3")), "not UTF-8"));
  auto output = [](std::string name) {
    return Encode(Build{{1, 1}, {2, 1}, {}, {{std::move(name), 1}}}).bytes;
  };
  EXPECT_EQ(Refusal(output("y")), "accepted");
  EXPECT_TRUE(Contains(Refusal(output(std::string(limits::kNameBytesMax + 1, 'n'))), "longer"));
  EXPECT_TRUE(Contains(Refusal(output("\xed\xa0\x80")), "not UTF-8"));
  auto dimension = [](std::string name) {
    return Encode(CreateTensor{{1, 1}, {2, 1}, {{}, {webidl::DynamicDimension{name, 1, 1}}}}).bytes;
  };
  EXPECT_EQ(Refusal(dimension("batch")), "accepted");
  EXPECT_NE(Refusal(dimension(std::string(limits::kNameBytesMax + 1, 'n'))), "accepted");
  EXPECT_NE(Refusal(dimension("\xff")), "accepted");
}

TEST(Decode, InlinePayload_TooLarge_IsBadMessage) {
  auto write = [](size_t bytes) {
    return Encode(WriteTensor{{2, 1}, Payload(InlinePayload{std::vector<std::byte>(bytes)})}).bytes;
  };
  std::vector<std::byte> frame = write(limits::kInlinePayloadBytesMax);
  EXPECT_EQ(Refusal(frame), "accepted");
  // The pointer to the bytes, which end the frame, is made to say one more.
  uint64_t pointer = 0;
  size_t at = kFrameHeaderBytes;
  for (; at < frame.size(); at += 8) {
    std::memcpy(&pointer, frame.data() + at, sizeof(pointer));
    if ((pointer & 3) == 1 && pointer >> 35 == limits::kInlinePayloadBytesMax) break;
  }
  ASSERT_LT(at, frame.size());
  pointer += 1ull << 35;
  std::memcpy(frame.data() + at, &pointer, sizeof(pointer));
  frame.resize(frame.size() + 8);
  auto words = static_cast<uint32_t>(frame.size() / 8 - 1);
  std::memcpy(frame.data() + 4, &words, sizeof(words));
  EXPECT_TRUE(Contains(Refusal(frame), "inline payload (4097 bytes)"));
}

// What is decoded can be encoded again, and is the same then.
template <class M>
void ExpectStable(M&& message) {
  std::deque<UniqueFd> descriptors;
  Frame first = Encode(std::move(message));
  size_t count = first.descriptors.size();
  std::vector<std::byte> bytes = first.bytes;
  auto again = Decode<std::decay_t<M>>(std::move(first));
  ASSERT_TRUE(again.ok()) << again.error().message;
  Frame second = Encode(std::move(again).value());
  EXPECT_EQ(second.bytes, bytes);
  EXPECT_EQ(second.descriptors.size(), count);
}

TYPED_TEST(DecodeTest, RandomBytes_AreRefusedOrUnderstood) {
  Random random;
  for (int i = 0; i < 20000; ++i) {
    Segment segment;
    size_t words = random.Between(1, 40);
    for (size_t w = 0; w < words; ++w) {
      // Small numbers make more plausible pointers than uniform ones.
      uint64_t word = random.Between(0, ~0ull);
      segment.Word(random.Between(0, 1) == 0 ? word : word & 0x0003000300000077);
    }
    std::deque<UniqueFd> descriptors;
    auto decoded = Decode<TypeParam>(segment.Bytes(), descriptors);
    if (decoded.ok()) ExpectStable(std::move(decoded).value());
  }
}

TYPED_TEST(DecodeTest, FlippedBits_AreRefusedOrUnderstood) {
  Random random;
  std::vector<Frame> frames;
  for (TypeParam& sample : Codec<TypeParam>::Samples()) frames.push_back(Encode(std::move(sample)));
  for (int i = 0; i < 20000; ++i) {
    const Frame& frame = frames[random.Between(0, frames.size() - 1)];
    std::vector<std::byte> bytes = frame.bytes;
    for (uint64_t flips = random.Between(1, 4); flips > 0; --flips) {
      size_t at = random.Between(kFrameHeaderBytes,
                                 std::min<size_t>(bytes.size() - 1, random.Between(8, 400)));
      bytes[at] ^= static_cast<std::byte>(1 << random.Between(0, 7));
    }
    std::deque<UniqueFd> descriptors;
    for (const UniqueFd& fd : frame.descriptors) descriptors.push_back(fd.Duplicate());
    auto decoded = Decode<TypeParam>(bytes, descriptors);
    if (decoded.ok()) ExpectStable(std::move(decoded).value());
  }
}

}  // namespace
}  // namespace webnnd::ipc
