#include "client/graph_builder.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/utf8.h"
#include "client/context_impl.h"
#include "client/scalar_bytes.h"
#include "ipc/messages.h"
#include "webidl/generated/signatures.h"
#include "webidl/graph_endpoints.h"
#include "webidl/operator_table.h"

namespace webnn {
namespace {

namespace ipc = webnnd::ipc;
namespace limits = webnnd::limits;
namespace webidl = webnnd::webidl;
using webnnd::InvalidStateError;
using webnnd::QuotaError;
using webnnd::ValidationError;

// Frames have room for a chunk of this many bytes with certainty.
constexpr size_t kChunkBytesMax = limits::kFrameBytesMax / 4;

uint64_t NextSerial() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

Result<void> CheckText(const char* what, const std::string& text, size_t bytes_max) {
  INVALID_IF(text.size() > bytes_max, "the bytes ({}) of the {} exceed the limit ({})", text.size(),
             what, bytes_max);
  INVALID_IF(!webnnd::IsUtf8(text), "the {} is not UTF-8", what);
  return {};
}

// Elements of the lists in an operator's attributes: what an AddOperators frame carries of them.
size_t LargestList(const webidl::OperatorAttributes& attributes) {
  size_t largest = 0;
  const auto measure = [&largest](std::string_view, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    const auto note = [&largest](const auto& list) { largest = std::max(largest, list.size()); };
    if constexpr (std::is_same_v<Field, std::vector<uint32_t>> ||
                  std::is_same_v<Field, std::vector<float>> ||
                  std::is_same_v<Field, webidl::Sizes>) {
      note(field);
    } else if constexpr (std::is_same_v<Field, std::variant<uint32_t, std::vector<uint32_t>>>) {
      if (const auto* list = std::get_if<std::vector<uint32_t>>(&field)) note(*list);
    } else if constexpr (requires { field->size(); }) {
      if (field) note(*field);
    }
  };
  std::visit([&](const auto& alternative) { webidl::VisitFields(alternative, measure); },
             attributes);
  return largest;
}

// An upper estimate of an operator's bytes on the wire.
size_t WireBytes(const webidl::Operator& op) {
  return 256 + op.label.size() + 4 * (op.operands.size() + op.results.size()) +
         48 * LargestList(op.attributes);
}

// Two ranges of one file hold the same bytes.
struct FileRange {
  dev_t device;
  ino_t inode;
  uint64_t offset;
  auto operator<=>(const FileRange&) const = default;
};

}  // namespace

// What was made so far. Operands are numbered from 1 in the order in which they are made, so that
// references go backwards. Operators, inputs and small constants wait for Build, which sends only
// what the outputs reach; data too large for a frame is sent at once, so that a model never lies in
// this process twice. The service drops what of it the outputs do not reach.
struct GraphBuilder::Impl {
  enum class Origin : uint8_t { kInput, kSentConstant, kSmallConstant, kOperator };
  struct OperandRecord {
    Origin origin;
    uint32_t index;  // Into inputs, small_constants or operators.
    std::shared_ptr<const OperandDescriptor> descriptor;
  };
  struct InputRecord {
    uint32_t operand;
    std::string name;
  };
  struct SmallConstant {
    uint32_t operand;
    const std::vector<std::byte>* bytes;  // In shared_bytes.
  };
  using Described = std::pair<OperandDataType, Shape>;

  explicit Impl(std::shared_ptr<ContextImpl> context_impl)
      : context(std::move(context_impl)), serial(NextSerial()) {}

  std::shared_ptr<ContextImpl> context;
  uint64_t serial;
  bool has_built = false;
  std::optional<ipc::Handle> handle;  // Once the service knows of this builder.
  std::vector<OperandRecord> operands;
  std::vector<InputRecord> inputs;
  std::vector<SmallConstant> small_constants;
  std::vector<webidl::Operator> operators;
  std::map<std::string, uint32_t> input_names;
  webidl::DimensionNames dimension_names;
  // Constants that are there already, by what they hold: made again they are the same operand.
  std::map<std::pair<Described, std::vector<std::byte>>, uint32_t> shared_bytes;
  std::map<std::pair<Described, FileRange>, uint32_t> shared_files;
  std::map<std::shared_ptr<const Tensor>, uint32_t> shared_tensors;  // Alive until Build.

  Result<void> CheckCanBuild() const {
    if (has_built) return InvalidStateError("the builder has built its graph already");
    return context->CheckLive();
  }

  Result<void> CheckOperandRoom() const {
    if (operands.size() >= limits::kOperandsPerGraphMax) {
      return QuotaError("the graph has too many operands ({})", operands.size());
    }
    return {};
  }

  Result<uint32_t> AddOperand(Origin origin, size_t index, OperandDescriptor descriptor) {
    TRY(CheckOperandRoom());
    operands.push_back({origin, static_cast<uint32_t>(index),
                        std::make_shared<const OperandDescriptor>(std::move(descriptor))});
    return static_cast<uint32_t>(operands.size());
  }

  const OperandRecord& Record(uint32_t id) const { return operands[id - 1]; }

  // The builder's handle, made known to the service.
  Result<ipc::Handle> Handle() {
    if (!handle) {
      ASSIGN_OR_RETURN(handle, context->session().AllocateBuilder());
      context->connection().Queue(
          ipc::CreateBuilder{.context = context->handle(), .builder = *handle});
    }
    return *handle;
  }

  Result<uint32_t> SendConstant(OperandDescriptor descriptor, ipc::Handle builder,
                                ipc::Payload payload) {
    ipc::WireDescriptor wire = ToWire(descriptor);
    ASSIGN_OR_RETURN(const uint32_t id,
                     AddOperand(Origin::kSentConstant, 0, std::move(descriptor)));
    context->connection().Send(ipc::AddConstant{.builder = builder,
                                                .operand = id,
                                                .descriptor = std::move(wire),
                                                .data = std::move(payload)});
    return id;
  }

  Result<uint32_t> AddSmallConstant(OperandDescriptor descriptor, std::vector<std::byte> bytes) {
    auto key = std::pair(Described(descriptor.data_type(), descriptor.shape()), std::move(bytes));
    if (const auto shared = shared_bytes.find(key); shared != shared_bytes.end()) {
      return shared->second;
    }
    ASSIGN_OR_RETURN(const uint32_t id, AddOperand(Origin::kSmallConstant, small_constants.size(),
                                                   std::move(descriptor)));
    const auto added = shared_bytes.emplace(std::move(key), id).first;
    small_constants.push_back({id, &added->first.second});
    return id;
  }

  Result<uint32_t> AddLargeConstant(OperandDescriptor descriptor, std::span<const std::byte> data) {
    // All that can fail comes before Stage: what it numbers must be sent.
    TRY(CheckOperandRoom());
    TRY(context->connection().CheckRoom());
    ASSIGN_OR_RETURN(const ipc::Handle builder, Handle());
    ASSIGN_OR_RETURN(ipc::Payload payload, context->connection().Stage(data));
    return SendConstant(std::move(descriptor), builder, std::move(payload));
  }

  Result<void> CheckNames(const std::vector<bool>& reached) const;
  Result<void> CheckOutputs(const std::vector<std::pair<std::string, uint32_t>>& outputs) const;
  std::vector<bool> Reach(const std::vector<std::pair<std::string, uint32_t>>& outputs) const;
  void SendInputs(ipc::Handle builder, const std::vector<uint32_t>& inputs_reached);
  void SendSmallConstants(ipc::Handle builder, const std::vector<bool>& reached);
  void SendOperators(ipc::Handle builder, const std::vector<bool>& reached);
};

GraphBuilder::GraphBuilder(std::shared_ptr<Context> context)
    : impl_(std::make_unique<Impl>(context->impl_)) {}

Result<void> GraphBuilder::CheckCanBuild() const { return impl_->CheckCanBuild(); }

GraphBuilder::~GraphBuilder() {
  if (!impl_->handle || impl_->has_built) return;
  Session& session = impl_->context->session();
  if (!session.ended()) session.connection().Send(ipc::DestroyBuilder{*impl_->handle});
  session.ReleaseBuilder(*impl_->handle);
}

// --- Inputs and constants -----------------------------------------------------------------------

Result<Operand> GraphBuilder::Input(const std::string& name, OperandDataType data_type,
                                    const Shape& shape) {
  const std::vector<webidl::Dimension> dimensions(shape.begin(), shape.end());
  return Input(name, data_type, std::span<const webidl::Dimension>(dimensions));
}

Result<Operand> GraphBuilder::Input(const std::string& name, OperandDataType data_type,
                                    std::span<const webidl::Dimension> dimensions) {
  TRY(impl_->CheckCanBuild());
  TRY(webidl::CheckInputName(name, impl_->input_names.contains(name)));
  TRY(CheckText("input's name", name, limits::kNameBytesMax));
  // What fails declares no names.
  webidl::DimensionNames names = impl_->dimension_names;
  ASSIGN_OR_RETURN(
      OperandDescriptor descriptor,
      impl_->context->CheckDescriptor(OperandDescriptor::Create(data_type, dimensions, names)));
  ASSIGN_OR_RETURN(const uint32_t id, impl_->AddOperand(Impl::Origin::kInput, impl_->inputs.size(),
                                                        std::move(descriptor)));
  impl_->dimension_names = std::move(names);
  impl_->inputs.push_back({id, name});
  impl_->input_names.emplace(name, id);
  return Operand(impl_->serial, id, impl_->Record(id).descriptor);
}

Result<Operand> GraphBuilder::Constant(OperandDataType data_type, const Shape& shape,
                                       std::span<const std::byte> data) {
  TRY(impl_->CheckCanBuild());
  ASSIGN_OR_RETURN(OperandDescriptor descriptor,
                   impl_->context->CheckDescriptor(
                       OperandDescriptor::Create(data_type, std::span<const uint32_t>(shape))));
  INVALID_IF(data.size() != descriptor.byte_length(),
             "the bytes ({}) of the data are not those of {} ({})", data.size(),
             descriptor.ToString(), descriptor.byte_length());
  ASSIGN_OR_RETURN(const uint32_t id,
                   data.size() <= limits::kInlinePayloadBytesMax
                       ? impl_->AddSmallConstant(std::move(descriptor), {data.begin(), data.end()})
                       : impl_->AddLargeConstant(std::move(descriptor), data));
  return Operand(impl_->serial, id, impl_->Record(id).descriptor);
}

Result<Operand> GraphBuilder::Constant(OperandDataType data_type, Number value) {
  TRY(impl_->CheckCanBuild());
  ASSIGN_OR_RETURN(OperandDescriptor descriptor,
                   impl_->context->CheckDescriptor(
                       OperandDescriptor::Create(data_type, std::span<const uint32_t>())));
  ASSIGN_OR_RETURN(const uint32_t id,
                   impl_->AddSmallConstant(std::move(descriptor), ScalarBytes(value, data_type)));
  return Operand(impl_->serial, id, impl_->Record(id).descriptor);
}

Result<Operand> GraphBuilder::Constant(const Tensor& tensor) {
  INVALID_IF(tensor.context_ != impl_->context, "the tensor is of another context");
  TRY(impl_->CheckCanBuild());
  INVALID_IF(tensor.destroyed_, "the tensor is destroyed");
  INVALID_IF(!tensor.constant_, "the tensor is not constant");
  const std::shared_ptr<const Tensor> key = tensor.shared_from_this();
  auto shared = impl_->shared_tensors.find(key);
  if (shared == impl_->shared_tensors.end()) {
    // Sent at once: Build has only the handle, which by then may name another tensor.
    TRY(impl_->context->connection().CheckRoom());
    ASSIGN_OR_RETURN(const ipc::Handle builder, impl_->Handle());
    ASSIGN_OR_RETURN(const uint32_t id,
                     impl_->AddOperand(Impl::Origin::kSentConstant, 0, tensor.descriptor_));
    impl_->context->connection().Send(ipc::AddConstantTensor{
        .builder = builder, .operand = id, .tensor = ipc::Handle::Unpack(tensor.handle_)});
    shared = impl_->shared_tensors.emplace(key, id).first;
  }
  return Operand(impl_->serial, shared->second, impl_->Record(shared->second).descriptor);
}

Result<Operand> GraphBuilder::ConstantFromFile(OperandDataType data_type, const Shape& shape,
                                               int descriptor, uint64_t offset) {
  TRY(impl_->CheckCanBuild());
  ASSIGN_OR_RETURN(OperandDescriptor constant,
                   impl_->context->CheckDescriptor(
                       OperandDescriptor::Create(data_type, std::span<const uint32_t>(shape))));
  ASSIGN_OR_RETURN(webnnd::UniqueFd file,
                   DuplicateFile(descriptor, offset, constant.byte_length()));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return webnnd::ErrnoError("fstat");
  const auto key =
      std::pair(Impl::Described(data_type, shape), FileRange{status.st_dev, status.st_ino, offset});
  auto shared = impl_->shared_files.find(key);
  if (shared == impl_->shared_files.end()) {
    TRY(impl_->context->connection().CheckRoom());
    ASSIGN_OR_RETURN(const ipc::Handle builder, impl_->Handle());
    ipc::FilePayload payload{std::move(file), offset, constant.byte_length()};
    ASSIGN_OR_RETURN(const uint32_t id,
                     impl_->SendConstant(std::move(constant), builder, std::move(payload)));
    shared = impl_->shared_files.emplace(key, id).first;
  }
  return Operand(impl_->serial, shared->second, impl_->Record(shared->second).descriptor);
}

// --- Operators ----------------------------------------------------------------------------------

Result<std::vector<Operand>> GraphBuilder::AddOperator(webidl::OperatorKind kind,
                                                       std::span<const Operand* const> slots,
                                                       webidl::OperatorAttributes attributes,
                                                       std::string label) {
  TRY(impl_->CheckCanBuild());
  INVALID_IF(!webnnd::IsUtf8(label), "the label is not UTF-8");
  // The draft knows no limit, and a label is for people to read.
  label.resize(webnnd::TruncateUtf8(label, limits::kLabelBytesMax).size());
  std::vector<const OperandDescriptor*> descriptors;
  webidl::Operator op{.kind = kind, .operands = {}, .results = {}, .label = {}, .attributes = {}};
  for (const Operand* slot : slots) {
    INVALID_IF(slot != nullptr && slot->builder_serial_ != impl_->serial,
               "an operand of {} is of another builder", webidl::OperatorName(kind));
    descriptors.push_back(slot == nullptr ? nullptr : slot->descriptor_.get());
    op.operands.push_back(slot == nullptr ? 0 : slot->id_);
  }
  INVALID_IF(slots.size() > limits::kOperandsPerOperatorMax,
             "the operands ({}) of {} exceed the limit ({})", slots.size(),
             webidl::OperatorName(kind), limits::kOperandsPerOperatorMax);
  INVALID_IF(LargestList(attributes) > limits::kAttributeListMax,
             "the elements ({}) of a list of {} exceed the limit ({})", LargestList(attributes),
             webidl::OperatorName(kind), limits::kAttributeListMax);
  ASSIGN_OR_RETURN(std::vector<OperandDescriptor> results,
                   webidl::InferOperator(kind, descriptors, attributes, label,
                                         impl_->context->limit_set(), impl_->dimension_names));
  INVALID_IF(results.size() > limits::kOperandsPerOperatorMax,
             "the results ({}) of {} exceed the limit ({})", results.size(),
             webidl::OperatorName(kind), limits::kOperandsPerOperatorMax);
  for (const OperandDescriptor& result : results) {
    if (auto held = impl_->context->CheckDescriptor(result); !held.ok()) {
      return ValidationError("{}: {}", webidl::OperatorPrefix(kind, label), held.error().message());
    }
  }
  if (impl_->operators.size() >= limits::kOperatorsPerGraphMax) {
    return QuotaError("the graph has too many operators ({})", impl_->operators.size());
  }

  std::vector<Operand> operands;
  for (OperandDescriptor& result : results) {
    ASSIGN_OR_RETURN(
        const uint32_t id,
        impl_->AddOperand(Impl::Origin::kOperator, impl_->operators.size(), std::move(result)));
    op.results.push_back(id);
    operands.push_back(Operand(impl_->serial, id, impl_->Record(id).descriptor));
  }
  op.label = std::move(label);
  op.attributes = std::move(attributes);
  impl_->operators.push_back(std::move(op));
  return operands;
}

// --- Build --------------------------------------------------------------------------------------

// The draft's checks of `outputs`, which leave the builder as it was when they fail.
Result<void> GraphBuilder::Impl::CheckOutputs(
    const std::vector<std::pair<std::string, uint32_t>>& outputs) const {
  INVALID_IF(outputs.size() > limits::kGraphEndpointsMax,
             "the outputs ({}) of the graph exceed the limit ({})", outputs.size(),
             limits::kGraphEndpointsMax);
  for (const auto& [name, id] : outputs) {
    TRY(webidl::CheckOutput(name, Record(id).origin == Origin::kOperator));
    TRY(CheckText("output's name", name, limits::kNameBytesMax));
  }
  return {};
}

// Every size must follow from those of the inputs.
Result<void> GraphBuilder::Impl::CheckNames(const std::vector<bool>& reached) const {
  std::set<std::string> determined, used;
  for (const InputRecord& input : inputs) {
    if (reached[input.operand]) {
      webidl::AddDeterminedNames(*Record(input.operand).descriptor, determined);
    }
  }
  for (uint32_t id = 1; id <= operands.size(); ++id) {
    if (reached[id]) webidl::AddUsedNames(*Record(id).descriptor, used);
  }
  for (const webidl::Operator& op : operators) {
    if (reached[op.results.front()]) {
      TRY(webidl::AddUsedNames(op.attributes, dimension_names, used));
    }
  }
  return webidl::CheckDetermined(used, determined);
}

// Which operands the outputs depend on, by id; results of a reached operator all count.
std::vector<bool> GraphBuilder::Impl::Reach(
    const std::vector<std::pair<std::string, uint32_t>>& outputs) const {
  std::vector<bool> reached(operands.size() + 1, false);
  for (const auto& [name, id] : outputs) reached[id] = true;
  // References go backwards, so that one walk from the last operator finds all.
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    const auto is_reached = [&](uint32_t id) { return reached[id]; };
    if (!std::any_of(op->results.begin(), op->results.end(), is_reached)) continue;
    for (uint32_t id : op->results) reached[id] = true;
    for (uint32_t id : op->operands) reached[id] = true;
  }
  reached[0] = false;  // The absent operand.
  return reached;
}

void GraphBuilder::Impl::SendInputs(ipc::Handle builder,
                                    const std::vector<uint32_t>& inputs_reached) {
  ipc::AddInputs message{builder, {}};
  size_t bytes = 0;
  for (uint32_t id : inputs_reached) {
    const OperandRecord& record = Record(id);
    message.inputs.push_back({id, inputs[record.index].name, ToWire(*record.descriptor)});
    bytes += limits::kNameBytesMax + 256;
    if (bytes < kChunkBytesMax) continue;
    context->connection().Queue(std::exchange(message, {builder, {}}));
    bytes = 0;
  }
  if (!message.inputs.empty()) context->connection().Queue(std::move(message));
}

void GraphBuilder::Impl::SendSmallConstants(ipc::Handle builder, const std::vector<bool>& reached) {
  for (const SmallConstant& constant : small_constants) {
    if (!reached[constant.operand]) continue;
    context->connection().Queue(
        ipc::AddConstant{.builder = builder,
                         .operand = constant.operand,
                         .descriptor = ToWire(*Record(constant.operand).descriptor),
                         .data = ipc::InlinePayload{*constant.bytes}});
  }
}

void GraphBuilder::Impl::SendOperators(ipc::Handle builder, const std::vector<bool>& reached) {
  ipc::AddOperators message{builder, {}};
  size_t bytes = 0;
  for (webidl::Operator& op : operators) {
    if (!reached[op.results.front()]) continue;
    bytes += WireBytes(op);
    message.operators.push_back(std::move(op));
    if (message.operators.size() < limits::kOperatorsPerChunk && bytes < kChunkBytesMax) continue;
    context->connection().Queue(std::exchange(message, {builder, {}}));
    bytes = 0;
  }
  if (!message.operators.empty()) context->connection().Queue(std::move(message));
}

Future<std::shared_ptr<Graph>> GraphBuilder::Build(const NamedOperands& outputs) {
  const auto build = [&]() -> Result<Future<std::shared_ptr<Graph>>> {
    TRY(impl_->CheckCanBuild());
    INVALID_IF(outputs.empty(), "the graph has no output");
    std::vector<std::pair<std::string, uint32_t>> named;
    for (const auto& [name, operand] : outputs) {
      INVALID_IF(operand.builder_serial_ != impl_->serial,
                 "the output \"{}\" is an operand of another builder", name);
      named.emplace_back(name, operand.id_);
    }
    TRY(impl_->CheckOutputs(named));
    TRY(impl_->CheckNames(impl_->Reach(named)));

    // Endpoints go by name: Dispatch then compares them side by side with its sorted maps.
    const std::vector<bool> reached = impl_->Reach(named);
    ipc::Build message{.builder = {}, .graph = {}, .inputs = {}, .outputs = {}};
    std::vector<Graph::Endpoint> input_endpoints;
    for (const auto& [name, id] : impl_->input_names) {
      if (!reached[id]) continue;
      message.inputs.push_back(id);
      input_endpoints.push_back({name, *impl_->Record(id).descriptor});
    }
    INVALID_IF(message.inputs.size() > limits::kGraphEndpointsMax,
               "the inputs ({}) of the graph exceed the limit ({})", message.inputs.size(),
               limits::kGraphEndpointsMax);
    std::vector<Graph::Endpoint> output_endpoints;
    for (const auto& [name, id] : named) {
      message.outputs.push_back({name, id});
      output_endpoints.push_back({name, *impl_->Record(id).descriptor});
    }

    TRY(impl_->context->connection().CheckRoom());
    Session& session = impl_->context->session();
    ASSIGN_OR_RETURN(message.builder, impl_->Handle());
    ASSIGN_OR_RETURN(message.graph, session.AllocateHandle());
    impl_->has_built = true;
    impl_->SendInputs(message.builder, message.inputs);
    impl_->SendSmallConstants(message.builder, reached);
    impl_->SendOperators(message.builder, reached);
    auto future = impl_->context->Build(std::move(message), std::move(input_endpoints),
                                        std::move(output_endpoints));
    session.ReleaseBuilder(*impl_->handle);  // Build has consumed it.
    impl_->shared_tensors.clear();
    return future;
  };
  auto future = build();
  if (!future.ok()) return Future<std::shared_ptr<Graph>>::Ready(std::move(future).error());
  return *std::move(future);
}

}  // namespace webnn
