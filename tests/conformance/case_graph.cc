#include "tests/conformance/case_graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tests/conformance/values.h"
#include "webidl/generated/enum_names.h"
#include "webidl/generated/signatures.h"

namespace webnnd::conformance {
namespace {

using nlohmann::json;
using webidl::ArgumentKind;

// --- JSON to the fields of attributes -----------------------------------------------------------

template <class Integer>
Status ParseInteger(const json& value, Integer& field) {
  ASSIGN_OR_RETURN(webidl::Number number, ParseNumber(value));
  double as_double = std::visit([](auto n) { return static_cast<double>(n); }, number);
  bool fits = as_double >= std::numeric_limits<Integer>::min() &&
              as_double <= std::numeric_limits<Integer>::max();
  INVALID_IF(!fits || static_cast<double>(static_cast<Integer>(as_double)) != as_double,
             "the value ({}) is not an integer of the range", value.dump());
  field = static_cast<Integer>(as_double);
  return {};
}
Status ParseField(const json& value, uint32_t& field) { return ParseInteger(value, field); }
Status ParseField(const json& value, int32_t& field) { return ParseInteger(value, field); }

Status ParseField(const json& value, webidl::Number& field) {
  ASSIGN_OR_RETURN(field, ParseNumber(value));
  return {};
}

Status ParseField(const json& value, double& field) {
  ASSIGN_OR_RETURN(webidl::Number number, ParseNumber(value));
  field = std::visit([](auto n) { return static_cast<double>(n); }, number);
  return {};
}

Status ParseField(const json& value, float& field) {
  double number = 0;
  TRY(ParseField(value, number));
  field = static_cast<float>(number);
  return {};
}

Status ParseField(const json& value, bool& field) {
  INVALID_IF(!value.is_boolean(), "the value ({}) is not a boolean", value.dump());
  field = value.get<bool>();
  return {};
}

template <class Enum>
requires std::is_enum_v<Enum> Status ParseField(const json& value, Enum& field) {
  const auto* name = value.get_ptr<const std::string*>();
  INVALID_IF(name == nullptr, "the value ({}) is not a name", value.dump());
  auto parsed = webidl::EnumFromString<Enum>(*name);
  INVALID_IF(!parsed, "the enum does not have the value ({})", *name);
  field = *parsed;
  return {};
}

template <class Element>
Status ParseField(const json& value, std::vector<Element>& field) {
  INVALID_IF(!value.is_array(), "the value ({}) is not a list", value.dump().substr(0, 80));
  field.clear();
  for (const json& element : value) {
    Element parsed{};
    TRY(ParseField(element, parsed));
    field.push_back(std::move(parsed));
  }
  return {};
}

template <class T>
Status ParseField(const json& value, std::optional<T>& field) {
  return ParseField(value, field.emplace());
}

Status ParseField(const json& value, std::variant<uint32_t, std::vector<uint32_t>>& field) {
  if (value.is_array()) return ParseField(value, field.emplace<1>());
  return ParseField(value, field.emplace<0>());
}

// Sets the attribute of this IDL name. Without one nothing happens: as Web IDL has it, members that
// a dictionary does not know are ignored.
Status SetAttribute(webidl::OperatorAttributes& attributes, std::string_view name,
                    const json& value) {
  Status status;
  auto visit = [&](std::string_view field_name, auto& field) {
    if (field_name == name) status = ParseField(value, field);
  };
  std::visit([&](auto& alternative) { webidl::VisitFields(alternative, visit); }, attributes);
  return status;
}

// --- Calls --------------------------------------------------------------------------------------

class CallArguments {
 public:
  CallArguments(const webidl::OperatorSignature& signature, const CaseOperands& operands)
      : signature_(signature), operands_(operands), slots_(signature.slots.size(), nullptr) {
    if (signature.operand_list) slots_.clear();
    attributes = webidl::DefaultAttributes(signature.kind);
  }

  Status Take(const CaseCall& call) {
    size_t positional = 0;
    for (const webidl::Argument& argument : signature_.arguments) {
      if (argument.kind == ArgumentKind::kOptions) continue;
      INVALID_IF(positional == call.arguments.size(), "the argument ({}) is missing",
                 argument.name);
      TRY(TakeArgument(argument, call.arguments[positional++]));
    }
    INVALID_IF(positional != call.arguments.size(), "there are more arguments ({}) than ({})",
               call.arguments.size(), positional);
    for (const auto& [key, value] : call.options.items()) TRY(TakeOption(key, value));
    return {};
  }

  const std::vector<const webnn::Operand*>& slots() const { return slots_; }

  webidl::OperatorAttributes attributes;
  std::string label;

 private:
  Result<const webnn::Operand*> Find(const json& value) const {
    const auto* name = value.get_ptr<const std::string*>();
    INVALID_IF(name == nullptr, "the value ({}) does not name an operand",
               value.dump().substr(0, 80));
    auto found = operands_.find(*name);
    INVALID_IF(found == operands_.end(), "there is no operand of the name ({})", *name);
    return &found->second;
  }

  // The signature's slot of this name; slots_.size() when it has none.
  size_t SlotOf(std::string_view name) const {
    auto found = std::find_if(signature_.slots.begin(), signature_.slots.end(),
                              [&](const webidl::OperandSlot& slot) { return slot.name == name; });
    return static_cast<size_t>(found - signature_.slots.begin());
  }

  Status TakeArgument(const webidl::Argument& argument, const json& value) {
    if (argument.kind == ArgumentKind::kOperandList) {
      INVALID_IF(!value.is_array(), "the argument ({}) is not a list", argument.name);
      for (const json& element : value) {
        ASSIGN_OR_RETURN(const webnn::Operand* operand, Find(element));
        slots_.push_back(operand);
      }
      return {};
    }
    if (argument.kind == ArgumentKind::kAttribute) {
      return SetAttribute(attributes, argument.name, value);
    }
    size_t slot = SlotOf(argument.name);
    CHECK(slot < slots_.size());
    ASSIGN_OR_RETURN(slots_[slot], Find(value));
    return {};
  }

  Status TakeOption(const std::string& key, const json& value) {
    if (key == "label") {
      const auto* text = value.get_ptr<const std::string*>();
      INVALID_IF(text == nullptr, "the label ({}) is not a text", value.dump());
      label = *text;
      return {};
    }
    if (size_t slot = SlotOf(key); slot < slots_.size()) {
      ASSIGN_OR_RETURN(slots_[slot], Find(value));
      return {};
    }
    return SetAttribute(attributes, key, value);
  }

  const webidl::OperatorSignature& signature_;
  const CaseOperands& operands_;
  std::vector<const webnn::Operand*> slots_;
};

Status AddCall(webnn::GraphBuilder& builder, const CaseCall& call, CaseOperands& operands) {
  auto kind = webidl::OperatorKindFromName(call.name);
  INVALID_IF(!kind, "the draft has no operator ({})", call.name);
  CallArguments arguments(webidl::GetSignature(*kind), operands);
  TRY_DOING(arguments.Take(call), "reading the arguments of {}", call.name);
  ASSIGN_OR_RETURN(std::vector<webnn::Operand> results,
                   builder.AddOperator(*kind, arguments.slots(), std::move(arguments.attributes),
                                       std::move(arguments.label)));
  INVALID_IF(results.size() != call.outputs.size(),
             "{} has as many results ({}) as the case does not name ({})", call.name,
             results.size(), call.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    operands.insert_or_assign(call.outputs[i], results[i]);
  }
  return {};
}

}  // namespace

Result<CaseOperands> AddCaseOperators(webnn::GraphBuilder& builder, const Case& test) {
  CaseOperands operands;
  for (const CaseInput& input : test.inputs) {
    auto operand =
        input.constant
            ? builder.Constant(input.descriptor.data_type(), input.descriptor.shape(), input.bytes)
            : builder.Input(input.name, input.descriptor.data_type(), input.descriptor.shape());
    if (!operand.ok()) return std::move(operand).error().AddContext("adding " + input.name);
    operands.emplace(input.name, std::move(*operand));
  }
  for (const CaseCall& call : test.calls) TRY(AddCall(builder, call, operands));
  return operands;
}

}  // namespace webnnd::conformance
