#include "fuzz/sent_graph.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/utf8.h"
#include "ipc/codec.h"
#include "ipc/frame.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::fuzz {
namespace {

constexpr ipc::Handle kBuilder{4, 1};

bool IsSmall(const ipc::WireDescriptor& descriptor) {
  auto checked = webidl::OperandDescriptor::Create(descriptor.data_type, descriptor.dimensions);
  return !checked.ok() || checked->byte_length() <= limits::kInlinePayloadBytesMax;
}

bool IsShortText(const std::string& text, size_t bytes_max) {
  return text.size() <= bytes_max && IsUtf8(text);
}

bool HasShortNames(const ipc::WireDescriptor& descriptor) {
  return descriptor.dimensions.size() <= kListMax &&
         std::all_of(descriptor.dimensions.begin(), descriptor.dimensions.end(),
                     [](const webidl::Dimension& dimension) {
                       const auto* dynamic = std::get_if<webidl::DynamicDimension>(&dimension);
                       return dynamic == nullptr ||
                              IsShortText(dynamic->name, limits::kNameBytesMax);
                     });
}

// Whether an attribute, unless it is a list that is too long, may stand.
struct AttributeBounds {
  bool within = true;

  template <class T>
  void operator()(std::string_view, const std::vector<T>& list) {
    within = within && list.size() <= kListMax;
  }
  void operator()(std::string_view, const webidl::Sizes& sizes) {
    within = within && sizes.size() <= kListMax &&
             std::all_of(sizes.dynamic.begin(), sizes.dynamic.end(), [](const auto& item) {
               return IsShortText(item.dimension.name, limits::kNameBytesMax);
             });
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& field) {
    if (field) (*this)(name, *field);
  }
  template <class... T>
  void operator()(std::string_view name, const std::variant<T...>& field) {
    std::visit([&](const auto& alternative) { (*this)(name, alternative); }, field);
  }
  template <class T>
  void operator()(std::string_view, const T&) {}
};

bool IsWithinBounds(const webidl::Operator& op) {
  AttributeBounds bounds;
  std::visit([&](const auto& attributes) { webidl::VisitFields(attributes, bounds); },
             op.attributes);
  return bounds.within && op.operands.size() <= kListMax && op.results.size() <= kListMax &&
         IsShortText(op.label, limits::kLabelBytesMax);
}

// Adds what the message says to the graph; false where it says nothing of a graph.
class Taker {
 public:
  explicit Taker(SentGraph& graph) : graph_(graph) {}

  bool operator()(ipc::AddInputs& message) {
    return Append(std::move(message.inputs), graph_.inputs);
  }
  bool operator()(ipc::AddConstant& message) {
    graph_.constants.push_back({message.operand, std::move(message.descriptor)});
    return true;
  }
  bool operator()(ipc::AddOperators& message) {
    return Append(std::move(message.operators), graph_.operators);
  }
  bool operator()(ipc::Build& message) {
    graph_.outputs = std::move(message.outputs);
    return true;
  }
  template <class Other>
  bool operator()(Other&) {
    return false;
  }

 private:
  template <class T>
  static bool Append(std::vector<T> from, std::vector<T>& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    return true;
  }

  SentGraph& graph_;
};

// The next frame in aligned memory, and the bytes behind it; nullopt where there is none.
std::optional<std::vector<uint64_t>> TakeFrame(std::span<const std::byte>& bytes) {
  if (bytes.size() < ipc::kFrameHeaderBytes) return std::nullopt;
  auto length = ipc::FrameLength(bytes.first<ipc::kFrameHeaderBytes>());
  if (!length.ok() || *length > bytes.size()) return std::nullopt;
  std::vector<uint64_t> frame(*length / 8);
  std::memcpy(frame.data(), bytes.data(), *length);
  bytes = bytes.subspan(*length);
  return frame;
}

void Append(ipc::ClientMessage message, std::vector<std::byte>& bytes) {
  ipc::Frame frame = ipc::Encode(std::move(message));
  bytes.insert(bytes.end(), frame.bytes.begin(), frame.bytes.end());
}

}  // namespace

bool IsWithinBounds(const SentGraph& graph) {
  const auto is_short = [](const auto& named) {
    return IsShortText(named.name, limits::kNameBytesMax);
  };
  return graph.inputs.size() <= kEntriesMax && graph.constants.size() <= kEntriesMax &&
         graph.operators.size() <= kEntriesMax && graph.outputs.size() <= kEntriesMax &&
         std::all_of(graph.inputs.begin(), graph.inputs.end(), is_short) &&
         std::all_of(graph.outputs.begin(), graph.outputs.end(), is_short) &&
         std::all_of(
             graph.inputs.begin(), graph.inputs.end(),
             [](const ipc::GraphInput& input) { return HasShortNames(input.descriptor); }) &&
         std::all_of(graph.constants.begin(), graph.constants.end(),
                     [](const SentConstant& constant) {
                       return HasShortNames(constant.descriptor) && IsSmall(constant.descriptor);
                     }) &&
         std::all_of(graph.operators.begin(), graph.operators.end(),
                     [](const webidl::Operator& op) { return IsWithinBounds(op); });
}

std::optional<SentGraph> ReadGraph(std::span<const std::byte> bytes) {
  SentGraph graph;
  while (!bytes.empty()) {
    auto frame = TakeFrame(bytes);
    if (!frame) return std::nullopt;
    std::deque<UniqueFd> no_descriptors;
    auto message = ipc::DecodeClientMessage(std::as_bytes(std::span(*frame)), no_descriptors);
    if (!message.ok() || !std::visit(Taker(graph), *message)) return std::nullopt;
  }
  if (!IsWithinBounds(graph)) return std::nullopt;
  std::stable_sort(
      graph.outputs.begin(), graph.outputs.end(),
      [](const ipc::GraphOutput& a, const ipc::GraphOutput& b) { return a.name < b.name; });
  return graph;
}

std::vector<std::byte> WriteGraph(const SentGraph& graph) {
  CHECK(IsWithinBounds(graph));
  std::vector<std::byte> bytes;
  if (!graph.inputs.empty()) Append(ipc::AddInputs{kBuilder, graph.inputs}, bytes);
  for (const SentConstant& constant : graph.constants) {
    Append(ipc::AddConstant{kBuilder, constant.operand, constant.descriptor, ipc::InlinePayload{}},
           bytes);
  }
  if (!graph.operators.empty()) Append(ipc::AddOperators{kBuilder, graph.operators}, bytes);
  Append(ipc::Build{kBuilder, {5, 1}, {}, graph.outputs}, bytes);
  return bytes;
}

}  // namespace webnnd::fuzz
