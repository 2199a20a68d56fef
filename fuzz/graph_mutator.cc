#include "fuzz/graph_mutator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "fuzz/generated/grammar.h"
#include "webidl/generated/signatures.h"
#include "webidl/operand_descriptor.h"
#include "webidl/operator_table.h"

namespace webnnd::fuzz {
namespace {

using webidl::Dimension;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Operator;
using webidl::OperatorKind;
using webidl::Shape;

// More than this of one kind a mutation does not add.
constexpr size_t kGrowthMax = kEntriesMax / 2;

uint32_t Below(Random& random, size_t bound) { return static_cast<uint32_t>(random() % bound); }
bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

// What rules of shapes turn on: the least, the limits, and their neighbours.
uint32_t BoundaryInteger(Random& random) {
  constexpr uint32_t kBoundaries[] = {0,
                                      1,
                                      limits::kRankMax,
                                      limits::kRankMax + 1,
                                      255,
                                      1024,
                                      1025,
                                      65536,
                                      1u << 24,
                                      limits::kDimensionMax,
                                      limits::kDimensionMax + 1,
                                      std::numeric_limits<uint32_t>::max()};
  return kBoundaries[Below(random, std::size(kBoundaries))];
}

// Few names and bounds, so that many of a graph agree.
webidl::DynamicDimension SmallDynamicDimension(Random& random) {
  constexpr const char* kNames[] = {"n", "n", "m", "n + 1", "n + m", ""};
  return {kNames[Below(random, std::size(kNames))], 1 + Below(random, 4), Below(random, 3)};
}

uint32_t SmallDimension(Random& random) {
  constexpr uint32_t kSizes[] = {1, 1, 1, 1, 2, 2, 3, 4, 6, 8};
  return kSizes[Below(random, std::size(kSizes))];
}

// --- Attributes ---------------------------------------------------------------------------------

// The source of choices for the grammar. Numbers are often those of a shape: that of the first
// operand. It chooses all fields, or one of them.
class Choices {
 public:
  static constexpr uint32_t kAllFields = std::numeric_limits<uint32_t>::max();

  Choices(Random& random, Shape shape, uint32_t field)
      : random_(random), shape_(std::move(shape)), field_(field) {}

  bool Given(std::string_view) {
    given_ = field_ == kAllFields ? OneIn(random_, 3) : next_++ == field_;
    return given_;
  }

  void Boolean(std::string_view, bool& value) {
    if (Begins()) value = !value;
  }
  template <class T>
  void Integer(std::string_view name, T& value) {
    if (Begins()) value = static_cast<T>(MakeInteger(name));
  }
  template <class T>
  void Real(std::string_view, T& value) {
    if (Begins()) value = static_cast<T>(MakeReal());
  }
  void MlNumber(std::string_view, webidl::Number& value) {
    if (!Begins()) return;
    switch (Below(random_, 3)) {
      case 0:
        value = MakeReal();
        return;
      case 1:
        value = static_cast<int64_t>(MakeReal() > 0 ? std::numeric_limits<int64_t>::max() : -3);
        return;
      default:
        value = uint64_t{BoundaryInteger(random_)};
    }
  }
  template <class Enum>
  void Enumerator(std::string_view, Enum& value, uint32_t count) {
    if (Begins()) value = static_cast<Enum>(Below(random_, count));
  }
  template <class T>
  void IntegerList(std::string_view name, std::vector<T>& list) {
    if (!Begins()) return;
    MakeList(list, [&] { return static_cast<T>(MakeInteger(name)); });
    if ((name == "axes" || name == "permutation") && OneIn(random_, 2)) {
      MakeAxes(list, /*all=*/name == "permutation");
    }
  }
  void SizeList(std::string_view name, webidl::Sizes& list) {
    if (!Begins()) return;
    std::vector<uint32_t> sizes;
    MakeList(sizes, [&] { return MakeInteger(name); });
    std::vector<Dimension> dimensions(sizes.begin(), sizes.end());
    if (!dimensions.empty() && OneIn(random_, 4)) {
      dimensions[Below(random_, dimensions.size())] = SmallDynamicDimension(random_);
    }
    list = webidl::Sizes(dimensions);
  }
  template <class T>
  void RealList(std::string_view, std::vector<T>& list) {
    if (Begins()) MakeList(list, [&] { return static_cast<T>(MakeReal()); });
  }
  template <class Enum>
  void EnumeratorList(std::string_view, std::vector<Enum>& list, uint32_t count) {
    if (Begins()) MakeList(list, [&] { return static_cast<Enum>(Below(random_, count)); });
  }
  void OneOf(std::string_view name, std::variant<uint32_t, std::vector<uint32_t>>& value) {
    if (!Begins()) return;
    if (OneIn(random_, 2)) {
      value = MakeInteger(name);
    } else {
      MakeList(value.emplace<1>(), [&] { return MakeInteger(name); });
    }
  }

 private:
  // Whether the field is one that is chosen.
  bool Begins() {
    return std::exchange(given_, false) || field_ == kAllFields || next_++ == field_;
  }

  uint32_t MakeInteger(std::string_view name) {
    const auto rank = static_cast<uint32_t>(shape_.size());
    if (name == "axis" && !OneIn(random_, 8)) return Below(random_, rank + 1);
    switch (Below(random_, 10)) {
      case 0:
        return BoundaryInteger(random_);
      case 1:
      case 2:
        return Below(random_, 4);
      case 3:
        return rank;
      case 4:
      case 5:
      case 6:
        if (!shape_.empty()) return shape_[Below(random_, rank)];
        [[fallthrough]];
      default:
        return 1;
    }
  }

  double MakeReal() {
    constexpr double kBoundaries[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      2.0,
                                      1e-5,
                                      -1e300,
                                      std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::denorm_min()};
    return kBoundaries[Below(random_, std::size(kBoundaries))];
  }

  // Most lists of the draft have an entry per axis, per spatial axis, or per side of each.
  template <class T, class Make>
  void MakeList(std::vector<T>& list, Make make) {
    const size_t sizes[] = {shape_.size(), shape_.size(), 2, 2, 4, 3, Below(random_, 10)};
    list.clear();
    for (size_t i = sizes[Below(random_, std::size(sizes))]; i > 0; --i) list.push_back(make());
  }

  // Some or all of the axes in any order, each once.
  template <class T>
  void MakeAxes(std::vector<T>& list, bool all) {
    list.resize(shape_.size());
    std::iota(list.begin(), list.end(), T{0});
    std::shuffle(list.begin(), list.end(), random_);
    if (!all) list.resize(Below(random_, list.size() + 1));
  }

  Random& random_;
  Shape shape_;
  uint32_t field_;
  uint32_t next_ = 0;
  bool given_ = false;
};

// --- Graphs -------------------------------------------------------------------------------------

using Descriptors = std::map<uint32_t, OperandDescriptor>;

uint32_t GreatestId(const SentGraph& graph) {
  uint32_t greatest = 0;
  for (const ipc::GraphInput& input : graph.inputs) greatest = std::max(greatest, input.operand);
  for (const SentConstant& constant : graph.constants) {
    greatest = std::max(greatest, constant.operand);
  }
  for (const Operator& op : graph.operators) {
    for (uint32_t result : op.results) greatest = std::max(greatest, result);
  }
  // Ids beyond the limit are a mutation's; counting goes on below.
  return greatest >= limits::kOperandsPerGraphMax ? 1000 : greatest;
}

std::vector<const OperandDescriptor*> Slots(const Operator& op, const Descriptors& known) {
  std::vector<const OperandDescriptor*> slots;
  for (uint32_t operand : op.operands) {
    auto found = known.find(operand);
    slots.push_back(found == known.end() ? nullptr : &found->second);
  }
  return slots;
}

// The descriptors of the operands that are valid, and the names that inputs declare.
struct Inferred {
  Descriptors known;
  webidl::DimensionNames names;
};

Inferred Infer(const SentGraph& graph) {
  Inferred inferred;
  auto& [known, names] = inferred;
  for (const ipc::GraphInput& input : graph.inputs) {
    auto checked =
        OperandDescriptor::Create(input.descriptor.data_type, input.descriptor.dimensions, names);
    if (checked.ok()) known.emplace(input.operand, *checked);
  }
  for (const SentConstant& constant : graph.constants) {
    auto checked =
        OperandDescriptor::Create(constant.descriptor.data_type, constant.descriptor.dimensions);
    if (checked.ok()) known.emplace(constant.operand, *checked);
  }
  for (const Operator& op : graph.operators) {
    auto results = webidl::InferOperator(op.kind, Slots(op, known), op.attributes, op.label,
                                         webidl::LimitSet::kAllowed, names);
    if (!results.ok()) continue;
    for (size_t i = 0; i < std::min(results->size(), op.results.size()); ++i) {
      known.emplace(op.results[i], (*results)[i]);
    }
  }
  return inferred;
}

bool Fits(const OperandDescriptor& descriptor, const webidl::TensorConstraint& constraint) {
  return constraint.types.Contains(descriptor.data_type()) &&
         descriptor.rank() >= constraint.rank_min && descriptor.rank() <= constraint.rank_max;
}

// Adds operators to one graph.
class Grower {
 public:
  Grower(SentGraph& graph, Random& random)
      : graph_(graph), random_(random), next_id_(GreatestId(graph) + 1) {
    Inferred inferred = Infer(graph);
    known_ = std::move(inferred.known);
    names_ = std::move(inferred.names);
  }

  void AddOperator(OperatorKind kind) {
    Operator op{
        .kind = kind, .operands = PickOperands(kind), .results = {}, .label = {}, .attributes = {}};
    op.attributes = MakeAttributes(op);
    auto results = webidl::InferOperator(kind, Slots(op, known_), op.attributes, op.label,
                                         webidl::LimitSet::kAllowed, names_);
    const size_t count = results.ok() ? results->size() : 1;
    for (size_t i = 0; i < std::min(count, kListMax); ++i) {
      if (results.ok()) known_.emplace(next_id_, (*results)[i]);
      op.results.push_back(next_id_++);
    }
    graph_.operators.push_back(std::move(op));
  }

  webidl::OperatorAttributes MakeAttributes(const Operator& op) {
    Choices choices(random_, FirstShape(op), Choices::kAllFields);
    return ChooseAttributes(choices, op.kind);
  }

  void ChangeAttribute(Operator& op) {
    Choices choices(random_, FirstShape(op), Below(random_, 8));
    std::visit([&](auto& attributes) { Choose(choices, attributes); }, op.attributes);
  }

 private:
  Shape FirstShape(const Operator& op) const {
    if (op.operands.empty()) return {};
    auto found = known_.find(op.operands[0]);
    return found == known_.end() ? Shape{} : found->second.shape();
  }

  std::vector<uint32_t> PickOperands(OperatorKind kind) {
    const webidl::OperatorSignature& signature = webidl::GetSignature(kind);
    const webidl::OperatorRow& row = webidl::GetOperatorRow(kind);
    const size_t slots = signature.operand_list ? 1 + Below(random_, 3) : signature.slots.size();
    std::vector<uint32_t> operands;
    const OperandDescriptor* first = nullptr;
    for (size_t i = 0; i < slots; ++i) {
      const bool optional = !signature.operand_list && i >= signature.required_slots;
      if (optional && !OneIn(random_, 3)) {
        operands.push_back(0);
        continue;
      }
      operands.push_back(PickOperand(row.slots[signature.operand_list ? 0 : i], first));
      // Nodes of a map stay where they are.
      if (i == 0) first = &known_.at(operands[0]);
    }
    return operands;
  }

  // One that is there already where it fits, else a new input.
  uint32_t PickOperand(const webidl::TensorConstraint& constraint, const OperandDescriptor* first) {
    if (!known_.empty() && !OneIn(random_, 3)) {
      auto candidate = std::next(known_.begin(), Below(random_, known_.size()));
      const bool like_first =
          first == nullptr || candidate->second.data_type() == first->data_type();
      if (like_first && Fits(candidate->second, constraint)) return candidate->first;
    }
    return AddInput(constraint, first);
  }

  uint32_t AddInput(const webidl::TensorConstraint& constraint, const OperandDescriptor* first) {
    constexpr uint32_t kUsualRankMax = 5;
    const uint32_t rank_max =
        std::max(constraint.rank_min, std::min(constraint.rank_max, kUsualRankMax));
    uint32_t rank = constraint.rank_min + Below(random_, rank_max - constraint.rank_min + 1);
    Shape shape;
    if (first != nullptr && Fits(*first, constraint) && OneIn(random_, 2)) {
      shape = first->shape();
    } else {
      for (uint32_t i = 0; i < rank; ++i) shape.push_back(PickDimension(first));
    }
    auto descriptor = OperandDescriptor::Create(PickType(constraint.types, first),
                                                std::span<const uint32_t>(shape));
    CHECK(descriptor.ok());
    const uint32_t id = next_id_++;
    graph_.inputs.push_back(
        {id, "i" + std::to_string(id), {descriptor->data_type(), {shape.begin(), shape.end()}}});
    known_.emplace(id, std::move(*descriptor));
    return id;
  }

  uint32_t PickDimension(const OperandDescriptor* first) {
    if (first == nullptr || first->rank() == 0 || OneIn(random_, 3)) return SmallDimension(random_);
    const uint32_t size = std::min(first->shape()[Below(random_, first->rank())], 16u);
    constexpr uint32_t kFactors[] = {1, 1, 1, 1, 3, 4};  // Gates of gru and lstm.
    return size * kFactors[Below(random_, std::size(kFactors))];
  }

  OperandDataType PickType(webidl::DataTypeSet types, const OperandDescriptor* first) {
    if (first != nullptr && types.Contains(first->data_type()) && !OneIn(random_, 16)) {
      return first->data_type();
    }
    for (;;) {
      const auto type = static_cast<OperandDataType>(Below(random_, webidl::kOperandDataTypeCount));
      if (types.Contains(type)) return type;
    }
  }

  SentGraph& graph_;
  Random& random_;
  Descriptors known_;
  webidl::DimensionNames names_;
  uint32_t next_id_;
};

// --- Dynamic dimensions -------------------------------------------------------------------------

// Items of lists of sizes become dynamic wherever they have one size.
struct SizeNamer {
  uint32_t size;
  webidl::DynamicDimension dimension;

  void operator()(std::string_view, webidl::Sizes& sizes) {
    std::vector<Dimension> dimensions = sizes.dimensions();
    std::replace(dimensions.begin(), dimensions.end(), Dimension(size), Dimension(dimension));
    sizes = webidl::Sizes(dimensions);
  }
  void operator()(std::string_view name, std::optional<webidl::Sizes>& sizes) {
    if (sizes) (*this)(name, *sizes);
  }
  template <class Other>
  void operator()(std::string_view, Other&) {}
};

// One size that dimensions of inputs have gets a name, wherever it stands: what agreed still does.
void NameSize(SentGraph& graph, Random& random) {
  std::vector<uint32_t> sizes;
  for (const ipc::GraphInput& input : graph.inputs) {
    for (const Dimension& dimension : input.descriptor.dimensions) {
      if (const auto* size = std::get_if<uint32_t>(&dimension)) sizes.push_back(*size);
    }
  }
  if (sizes.empty()) return;
  const uint32_t size = sizes[Below(random, sizes.size())];
  const webidl::DynamicDimension dimension{"d" + std::to_string(size), size,
                                           OneIn(random, 4) ? 0u : 1u};
  const bool in_attributes = OneIn(random, 2);
  for (ipc::GraphInput& input : graph.inputs) {
    if (OneIn(random, 16)) continue;
    auto& dimensions = input.descriptor.dimensions;
    std::replace(dimensions.begin(), dimensions.end(), Dimension(size), Dimension(dimension));
  }
  if (!in_attributes) return;
  for (Operator& op : graph.operators) {
    std::visit(
        [&](auto& attributes) {
          webidl::VisitFields(attributes, SizeNamer{size, dimension});
        },
        op.attributes);
  }
}

void NameResults(SentGraph& graph) {
  graph.outputs.clear();
  for (uint32_t result : graph.operators.back().results) {
    graph.outputs.push_back({"o" + std::to_string(result), result});
  }
}

void SortOutputs(SentGraph& graph) {
  std::stable_sort(
      graph.outputs.begin(), graph.outputs.end(),
      [](const ipc::GraphOutput& a, const ipc::GraphOutput& b) { return a.name < b.name; });
}

void MutateDimension(std::vector<Dimension>& dimensions, Random& random) {
  const auto at = [&] { return dimensions.begin() + Below(random, dimensions.size()); };
  switch (Below(random, 7)) {
    case 0:
      if (dimensions.size() < limits::kRankMax + 2) {
        dimensions.insert(dimensions.begin() + Below(random, dimensions.size() + 1),
                          Dimension(SmallDimension(random)));
      }
      return;
    case 1:
      if (!dimensions.empty()) dimensions.erase(at());
      return;
    case 2:
      if (!dimensions.empty()) *at() = BoundaryInteger(random);
      return;
    case 3:
      if (!dimensions.empty()) {
        *at() = SmallDynamicDimension(random);
      }
      return;
    case 4:
      std::shuffle(dimensions.begin(), dimensions.end(), random);
      return;
    default:
      if (!dimensions.empty()) *at() = SmallDimension(random);
  }
}

// All inputs and constants of one type get another: most graphs stay valid.
void MutateType(SentGraph& graph, Random& random) {
  if (graph.inputs.empty()) return;
  const OperandDataType from =
      graph.inputs[Below(random, graph.inputs.size())].descriptor.data_type;
  const auto to = static_cast<OperandDataType>(Below(random, webidl::kOperandDataTypeCount));
  for (ipc::GraphInput& input : graph.inputs) {
    if (input.descriptor.data_type == from) input.descriptor.data_type = to;
  }
  for (SentConstant& constant : graph.constants) {
    if (constant.descriptor.data_type == from) constant.descriptor.data_type = to;
  }
}

uint32_t AnyId(const SentGraph& graph, Random& random) {
  if (OneIn(random, 16)) return OneIn(random, 4) ? limits::kOperandsPerGraphMax + 1 : 0;
  return 1 + Below(random, GreatestId(graph) + 1);
}

void MutateReference(SentGraph& graph, Random& random) {
  if (graph.operators.empty()) return;
  Operator& op = graph.operators[Below(random, graph.operators.size())];
  std::vector<uint32_t>& list = OneIn(random, 16) ? op.results : op.operands;
  switch (Below(random, 8)) {
    case 0:
      if (list.size() < kListMax) list.push_back(AnyId(graph, random));
      return;
    case 1:
      if (!list.empty()) list.pop_back();
      return;
    default:
      if (!list.empty()) list[Below(random, list.size())] = AnyId(graph, random);
  }
}

// What used its first result uses its first operand then.
void RemoveOperator(SentGraph& graph, Random& random) {
  if (graph.operators.size() < 2) return;
  const auto at = graph.operators.begin() + Below(random, graph.operators.size());
  const Operator removed = std::move(*at);
  graph.operators.erase(at);
  if (removed.operands.empty() || removed.results.empty()) return;
  for (Operator& op : graph.operators) {
    std::replace(op.operands.begin(), op.operands.end(), removed.results[0], removed.operands[0]);
  }
}

std::string MakeName(Random& random) {
  static const std::string kNames[] = {"",
                                       "a",
                                       "b",
                                       "i1",
                                       std::string("a\0b", 3),
                                       "\xc3\xa9",
                                       "a{}%s\n",
                                       std::string(limits::kNameBytesMax, 'x')};
  return kNames[Below(random, std::size(kNames))];
}

void MutateName(SentGraph& graph, Random& random) {
  switch (Below(random, 3)) {
    case 0:
      if (graph.inputs.empty()) return;
      graph.inputs[Below(random, graph.inputs.size())].name = MakeName(random);
      return;
    case 1:
      if (graph.operators.empty()) return;
      graph.operators[Below(random, graph.operators.size())].label = MakeName(random);
      return;
    default:
      if (!graph.outputs.empty() && OneIn(random, 2)) {
        graph.outputs[Below(random, graph.outputs.size())].name = MakeName(random);
      } else if (graph.outputs.size() < kGrowthMax) {
        graph.outputs.push_back({MakeName(random), AnyId(graph, random)});
      }
      SortOutputs(graph);
  }
}

void MoveInputToConstants(SentGraph& graph, Random& random) {
  if (graph.inputs.empty() || graph.constants.size() >= kGrowthMax) return;
  const auto at = graph.inputs.begin() + Below(random, graph.inputs.size());
  graph.constants.push_back({at->operand, at->descriptor});
  graph.inputs.erase(at);
}

void MutateDescriptor(SentGraph& graph, Random& random) {
  const size_t count = graph.inputs.size() + graph.constants.size();
  if (count == 0) return;
  const size_t index = Below(random, count);
  ipc::WireDescriptor& descriptor = index < graph.inputs.size()
                                        ? graph.inputs[index].descriptor
                                        : graph.constants[index - graph.inputs.size()].descriptor;
  if (OneIn(random, 4)) {
    descriptor.data_type =
        static_cast<OperandDataType>(Below(random, webidl::kOperandDataTypeCount));
  } else {
    MutateDimension(descriptor.dimensions, random);
  }
}

void GrowGraph(SentGraph& graph, OperatorKind kind, Random& random) {
  if (graph.operators.size() >= kGrowthMax || graph.inputs.size() >= kGrowthMax) return;
  Grower(graph, random).AddOperator(kind);
  if (OneIn(random, 2)) NameResults(graph);
}

}  // namespace

void GraphMutator::MutateOnce(SentGraph& graph) {
  const auto kind = static_cast<OperatorKind>(Below(random_, webidl::kOperatorKindCount));
  if (graph.operators.empty()) return GrowGraph(graph, kind, random_);
  Operator& op = graph.operators[Below(random_, graph.operators.size())];
  switch (Below(random_, 13)) {
    case 0:
    case 1:
      return GrowGraph(graph, kind, random_);
    case 11:
      return NameSize(graph, random_);
    case 2:
      op.attributes = Grower(graph, random_).MakeAttributes(op);
      return;
    case 3:
    case 4:
      return Grower(graph, random_).ChangeAttribute(op);
    case 5:
    case 6:
      return MutateDescriptor(graph, random_);
    case 7:
      return MutateType(graph, random_);
    case 8:
      return MutateReference(graph, random_);
    case 9:
      return RemoveOperator(graph, random_);
    case 10:
      return MutateName(graph, random_);
    default:
      return MoveInputToConstants(graph, random_);
  }
}

SentGraph GraphMutator::Mutate(SentGraph graph) {
  for (uint32_t changes = 1 + Below(random_, 4); changes > 0; --changes) {
    SentGraph changed = graph;
    MutateOnce(changed);
    if (IsWithinBounds(changed)) graph = std::move(changed);
  }
  return graph;
}

SentGraph GraphMutator::Cross(SentGraph graph, const SentGraph& other) {
  const uint32_t offset = GreatestId(graph);
  const auto shifted = [offset](uint32_t id) { return id == 0 ? 0 : id + offset; };
  SentGraph crossed = graph;
  for (ipc::GraphInput input : other.inputs) {
    input.operand = shifted(input.operand);
    if (!OneIn(random_, 16)) input.name += "'";
    crossed.inputs.push_back(std::move(input));
  }
  for (SentConstant constant : other.constants) {
    constant.operand = shifted(constant.operand);
    crossed.constants.push_back(std::move(constant));
  }
  for (Operator op : other.operators) {
    for (uint32_t& operand : op.operands) operand = shifted(operand);
    for (uint32_t& result : op.results) result = shifted(result);
    crossed.operators.push_back(std::move(op));
  }
  for (ipc::GraphOutput output : other.outputs) {
    crossed.outputs.push_back({output.name + "'", shifted(output.operand)});
  }
  SortOutputs(crossed);
  return IsWithinBounds(crossed) ? crossed : graph;
}

SentGraph GraphMutator::MakeDynamic(SentGraph graph) {
  NameSize(graph, random_);
  return graph;
}

SentGraph GraphMutator::MakeGraph(OperatorKind kind) {
  SentGraph graph;
  Grower(graph, random_).AddOperator(kind);
  NameResults(graph);
  return graph;
}

namespace {

SentGraph ReadOrNone(std::span<const uint8_t> bytes) {
  return ReadGraph(std::as_bytes(bytes)).value_or(SentGraph{});
}

// Writes the graph where it fits, else `otherwise`.
size_t Write(const SentGraph& graph, const SentGraph& otherwise, std::span<uint8_t> room) {
  std::vector<std::byte> bytes = WriteGraph(graph);
  if (bytes.size() > room.size()) bytes = WriteGraph(otherwise);
  if (bytes.size() > room.size()) return 0;
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

size_t MutateBytes(uint8_t* data, size_t size, size_t size_max, uint32_t seed) {
  const SentGraph graph = ReadOrNone({data, size});
  return Write(GraphMutator(seed).Mutate(graph), graph, {data, size_max});
}

size_t CrossBytes(std::span<const uint8_t> a, std::span<const uint8_t> b, std::span<uint8_t> out,
                  uint32_t seed) {
  const SentGraph graph = ReadOrNone(a);
  return Write(GraphMutator(seed).Cross(graph, ReadOrNone(b)), graph, out);
}

}  // namespace webnnd::fuzz
