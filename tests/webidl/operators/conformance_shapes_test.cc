// The shapes and types of the conformance cases: what they expect of every output is what inference
// says, with no device at all. Reads ../shared/wpt (its FORMAT.md says how) and skips without it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "webidl/generated/signatures.h"
#include "webidl/operator_table.h"

namespace webnnd::webidl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

OperandDescriptor ReadDescriptor(const Json& json) {
  const auto type = OperandDataTypeFromString(json["dataType"].get<std::string>());
  EXPECT_TRUE(type.has_value()) << json;
  auto descriptor = OperandDescriptor::Create(type.value_or(OperandDataType::kFloat32),
                                              json["shape"].get<Shape>());
  EXPECT_TRUE(descriptor.ok()) << json;
  return descriptor.ok() ? *descriptor : OperandDescriptor();
}

double ReadDouble(const Json& json) {
  // "Infinity", "-Infinity", "NaN" and 64-bit integers come as strings; strtod knows them all.
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr)
                          : json.get<double>();
}

bool ExceedsTheMaximum(const Json& json) {
  uint64_t bits = 8;
  if (const auto type = OperandDataTypeFromString(json["dataType"].get<std::string>())) {
    bits = BitsPerElement(*type);
  }
  for (const Json& dimension : json["shape"]) bits *= dimension.get<uint64_t>();
  return bits / 8 > limits::kTensorBytesMax;
}

// Why a case is not for us, or nothing.
std::string ReasonToSkip(const Json& test_case) {
  for (const char* group : {"inputs", "expectedOutputs"}) {
    for (const auto& [key, tensor] : test_case[group].items()) {
      if (ExceedsTheMaximum(tensor["descriptor"])) return key + " exceeds limits::kTensorBytesMax";
    }
  }
  return "";
}

// Reads a JSON value into an attribute, whatever its type.
template <class T>
void ReadInto(const Json& json, T& value) {
  value = json.get<T>();
}
void ReadInto(const Json& json, double& value) { value = ReadDouble(json); }
void ReadInto(const Json& json, float& value) { value = static_cast<float>(ReadDouble(json)); }
void ReadInto(const Json& json, Number& value) { value = ReadDouble(json); }
void ReadInto(const Json& json, OperandDataType& value) {
  value = OperandDataTypeFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, InputOperandLayout& value) {
  value = InputOperandLayoutFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, Conv2dFilterOperandLayout& value) {
  value = Conv2dFilterOperandLayoutFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, ConvTranspose2dFilterOperandLayout& value) {
  value = ConvTranspose2dFilterOperandLayoutFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, GruWeightLayout& value) {
  value = GruWeightLayoutFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, LstmWeightLayout& value) {
  value = LstmWeightLayoutFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, RecurrentNetworkActivation& value) {
  value = RecurrentNetworkActivationFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, RecurrentNetworkDirection& value) {
  value = RecurrentNetworkDirectionFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, PaddingMode& value) {
  value = PaddingModeFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, RoundingType& value) {
  value = RoundingTypeFromString(json.get<std::string>()).value();
}
void ReadInto(const Json& json, InterpolationMode& value) {
  value = InterpolationModeFromString(json.get<std::string>()).value();
}
template <class T>
void ReadInto(const Json& json, std::vector<T>& values) {
  values.clear();
  for (const Json& item : json) ReadInto(item, values.emplace_back());
}
void ReadInto(const Json& json, std::variant<uint32_t, std::vector<uint32_t>>& value) {
  if (json.is_array()) {
    value = json.get<std::vector<uint32_t>>();
  } else {
    value = json.get<uint32_t>();
  }
}
template <class T>
void ReadInto(const Json& json, std::optional<T>& value) {
  ReadInto(json, value.emplace());
}

// One operator of a case: what its arguments say, by the draft's names.
struct Call {
  OperatorKind kind;
  std::map<std::string, Json> arguments;  // Positional ones and options alike.
};

std::optional<Call> ReadCall(const Json& json) {
  const auto kind = OperatorKindFromName(json["name"].get<std::string>());
  if (!kind) return std::nullopt;
  Call call{*kind, {}};
  const auto& names = GetSignature(*kind).arguments;
  size_t position = 0;
  for (const Json& argument : json["arguments"]) {
    const Json& value = argument.begin().value();
    if (argument.begin().key() == "options") {
      for (const auto& [name, option] : value.items()) call.arguments[name] = option;
    } else {
      call.arguments[std::string(names[position++].name)] = value;
    }
  }
  return call;
}

OperatorAttributes ReadAttributes(const Call& call) {
  OperatorAttributes attributes = DefaultAttributes(call.kind);
  std::visit(
      [&call](auto& alternative) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(alternative)>, NoAttributes>) {
          VisitFields(alternative, [&call](std::string_view name, auto& field) {
            const auto found = call.arguments.find(std::string(name));
            if (found != call.arguments.end()) ReadInto(found->second, field);
          });
        }
      },
      attributes);
  return attributes;
}

using NamedDescriptors = std::map<std::string, OperandDescriptor>;

std::vector<const OperandDescriptor*> ReadOperands(const Call& call,
                                                   const NamedDescriptors& values) {
  const auto look_up = [&values](const Json& name) -> const OperandDescriptor* {
    const auto found = values.find(name.get<std::string>());
    return found == values.end() ? nullptr : &found->second;
  };
  const OperatorSignature& signature = GetSignature(call.kind);
  std::vector<const OperandDescriptor*> operands;
  for (const OperandSlot& slot : signature.slots) {
    const auto found = call.arguments.find(std::string(slot.name));
    if (found == call.arguments.end()) {
      operands.push_back(nullptr);
    } else if (signature.operand_list) {
      for (const Json& name : found->second) operands.push_back(look_up(name));
    } else {
      operands.push_back(look_up(found->second));
    }
  }
  return operands;
}

// Infers every operator of the case into `values`; the first error, or nothing.
std::string InferCase(const Json& json, NamedDescriptors& values) {
  for (const auto& [name, input] : json["inputs"].items()) {
    values[name] = ReadDescriptor(input["descriptor"]);
  }
  for (const Json& node : json["operators"]) {
    const std::optional<Call> call = ReadCall(node);
    if (!call) return "unknown operator " + node["name"].get<std::string>();
    auto results =
        InferOperator(call->kind, ReadOperands(*call, values), ReadAttributes(*call), "");
    if (!results.ok()) return results.error().message();
    const Json& outputs = node["outputs"];
    if (outputs.is_string()) {
      values[outputs.get<std::string>()] = results->at(0);
      continue;
    }
    if (outputs.size() != results->size()) return "another number of outputs";
    for (size_t i = 0; i < outputs.size(); ++i) values[outputs[i]] = (*results)[i];
  }
  return "";
}

TEST(ConformanceCases, InferredOutputs_AreTheExpectedOnes) {
  const fs::path folder = "../shared/wpt";
  if (!fs::exists(folder)) GTEST_SKIP() << "SKIPPED: ../shared/wpt is not there";
  size_t cases = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const Json json = Json::parse(file, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << entry.path();
    if (json.value("format", "") != "webnn-case/1") continue;
    for (const Json& test_case : json["cases"]) {
      const std::string name =
          entry.path().filename().string() + ": " + test_case["name"].get<std::string>();
      if (const std::string reason = ReasonToSkip(test_case); !reason.empty()) {
        std::cout << "SKIPPED: " << name << " (" << reason << ")\n";
        continue;
      }
      NamedDescriptors values;
      EXPECT_EQ(InferCase(test_case, values), "") << name;
      for (const auto& [output, expected] : test_case["expectedOutputs"].items()) {
        EXPECT_EQ(values[output].ToString(), ReadDescriptor(expected["descriptor"]).ToString())
            << name;
      }
      ++cases;
    }
  }
  EXPECT_GT(cases, 0u);
  RecordProperty("cases", static_cast<int>(cases));
}

}  // namespace
}  // namespace webnnd::webidl
