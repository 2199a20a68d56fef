#include "tests/conformance/case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/conformance/values.h"

namespace webnnd::conformance {
namespace {

using nlohmann::json;
using webidl::OperandDescriptor;

Result<const json*> Member(const json& object, const char* key) {
  INVALID_IF(!object.is_object(), "there is no object that holds \"{}\"", key);
  auto found = object.find(key);
  INVALID_IF(found == object.end(), "the member \"{}\" is missing", key);
  return &*found;
}

Result<std::string> Text(const json& value, const char* what) {
  const auto* text = value.get_ptr<const std::string*>();
  INVALID_IF(text == nullptr, "\"{}\" is not a text ({})", what, value.dump().substr(0, 80));
  return *text;
}

Result<std::string> TextMember(const json& object, const char* key) {
  ASSIGN_OR_RETURN(const json* value, Member(object, key));
  return Text(*value, key);
}

Result<OperandDescriptor> ParseDescriptor(const json& object) {
  ASSIGN_OR_RETURN(const json* value, Member(object, "descriptor"));
  ASSIGN_OR_RETURN(std::string type_name, TextMember(*value, "dataType"));
  auto type = webidl::OperandDataTypeFromString(type_name);
  INVALID_IF(!type, "the data type ({}) is none of the draft's", type_name);
  ASSIGN_OR_RETURN(const json* dimensions, Member(*value, "shape"));
  INVALID_IF(!dimensions->is_array(), "\"shape\" is not a list");
  webidl::Shape shape;
  for (const json& dimension : *dimensions) {
    const auto* size = dimension.get_ptr<const json::number_unsigned_t*>();
    INVALID_IF(size == nullptr || *size > UINT32_MAX, "the dimension ({}) is not a size",
               dimension.dump());
    shape.push_back(static_cast<uint32_t>(*size));
  }
  return OperandDescriptor::Create(*type, std::span<const uint32_t>(shape));
}

Result<std::vector<std::byte>> ParseData(const json& object, const OperandDescriptor& descriptor,
                                         Narrowing narrowing) {
  ASSIGN_OR_RETURN(const json* data, Member(object, "data"));
  return EncodeData(descriptor, *data, narrowing);
}

Result<Tolerance> ParseTolerance(const json& object) {
  ASSIGN_OR_RETURN(std::string metric, TextMember(object, "metricType"));
  INVALID_IF(metric != "ULP" && metric != "ATOL", "the metric ({}) is neither ULP nor ATOL",
             metric);
  ASSIGN_OR_RETURN(const json* value, Member(object, "value"));
  INVALID_IF(!value->is_number(), "the tolerance ({}) is not a number", value->dump());
  return Tolerance{metric == "ULP" ? Tolerance::Metric::kUlp : Tolerance::Metric::kAtol,
                   value->get<double>()};
}

Result<CaseInput> ParseInput(const std::string& name, const json& object) {
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, ParseDescriptor(object));
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ParseData(object, descriptor, Narrowing::kWrap));
  ASSIGN_OR_RETURN(const json* constant, Member(object, "constant"));
  INVALID_IF(!constant->is_boolean(), "\"constant\" is not a boolean");
  return CaseInput{name, std::move(descriptor), constant->get<bool>(), std::move(bytes)};
}

Result<CaseOutput> ParseOutput(const std::string& name, const json& object, Tolerance tolerance) {
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, ParseDescriptor(object));
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                   ParseData(object, descriptor, Narrowing::kSaturate));
  if (auto own = object.find("tolerance"); own != object.end()) {
    ASSIGN_OR_RETURN(tolerance, ParseTolerance(*own));
  }
  return CaseOutput{name, std::move(descriptor), std::move(bytes), tolerance};
}

Result<CaseCall> ParseCall(const json& object) {
  CaseCall call;
  ASSIGN_OR_RETURN(call.name, TextMember(object, "name"));
  ASSIGN_OR_RETURN(const json* arguments, Member(object, "arguments"));
  INVALID_IF(!arguments->is_array(), "{}: \"arguments\" is not a list", call.name);
  for (const json& argument : *arguments) {
    INVALID_IF(!argument.is_object() || argument.size() != 1,
               "{}: an argument does not have exactly one key ({})", call.name,
               argument.dump().substr(0, 80));
    if (argument.begin().key() == "options") {
      INVALID_IF(!argument.begin()->is_object(), "{}: the options are not an object", call.name);
      call.options = *argument.begin();
    } else {
      call.arguments.push_back(*argument.begin());
    }
  }
  ASSIGN_OR_RETURN(const json* outputs, Member(object, "outputs"));
  if (outputs->is_array()) {
    for (const json& output : *outputs) {
      ASSIGN_OR_RETURN(std::string name, Text(output, "outputs"));
      call.outputs.push_back(std::move(name));
    }
  } else {
    ASSIGN_OR_RETURN(std::string name, Text(*outputs, "outputs"));
    call.outputs.push_back(std::move(name));
  }
  return call;
}

Result<std::optional<uint32_t>> ParseKernelBound(const json& object) {
  auto fusion = object.find("fusion");
  if (fusion == object.end()) return std::optional<uint32_t>();
  ASSIGN_OR_RETURN(const json* bound, Member(*fusion, "expectedKernelsAtMost"));
  const auto* kernels = bound->get_ptr<const json::number_unsigned_t*>();
  INVALID_IF(kernels == nullptr || *kernels > UINT32_MAX,
             "\"expectedKernelsAtMost\" ({}) is not a count", bound->dump());
  return std::optional<uint32_t>(static_cast<uint32_t>(*kernels));
}

// Fills in what it can before it fails, so that the error has a case's name.
Status ParseCase(const json& object, Case& parsed) {
  ASSIGN_OR_RETURN(parsed.name, TextMember(object, "name"));
  ASSIGN_OR_RETURN(parsed.id, TextMember(object, "id"));
  ASSIGN_OR_RETURN(parsed.file, TextMember(object, "file"));
  ASSIGN_OR_RETURN(const json* tolerance_json, Member(object, "tolerance"));
  ASSIGN_OR_RETURN(Tolerance tolerance, ParseTolerance(*tolerance_json));
  ASSIGN_OR_RETURN(const json* inputs, Member(object, "inputs"));
  INVALID_IF(!inputs->is_object(), "\"inputs\" is not an object");
  for (const auto& [name, value] : inputs->items()) {
    auto input = ParseInput(name, value);
    if (!input.ok()) return std::move(input).error().AddContext("reading the input " + name);
    parsed.inputs.push_back(std::move(*input));
  }
  ASSIGN_OR_RETURN(const json* operators, Member(object, "operators"));
  INVALID_IF(!operators->is_array() || operators->empty(), "there is no operator");
  for (const json& value : *operators) {
    ASSIGN_OR_RETURN(CaseCall call, ParseCall(value));
    parsed.calls.push_back(std::move(call));
  }
  ASSIGN_OR_RETURN(const json* outputs, Member(object, "expectedOutputs"));
  INVALID_IF(!outputs->is_object() || outputs->empty(), "there is no expected output");
  for (const auto& [name, value] : outputs->items()) {
    auto output = ParseOutput(name, value, tolerance);
    if (!output.ok()) return std::move(output).error().AddContext("reading the output " + name);
    parsed.outputs.push_back(std::move(*output));
  }
  ASSIGN_OR_RETURN(parsed.kernels_at_most, ParseKernelBound(object));
  return {};
}

}  // namespace

Result<std::vector<LoadedCase>> ParseCases(const std::string& text) {
  json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  INVALID_IF(file.is_discarded(), "the file is not JSON");
  ASSIGN_OR_RETURN(std::string format, TextMember(file, "format"));
  INVALID_IF(format != "webnn-case/1", "the format ({}) is not webnn-case/1", format);
  ASSIGN_OR_RETURN(const json* list, Member(file, "cases"));
  INVALID_IF(!list->is_array(), "\"cases\" is not a list");
  std::vector<LoadedCase> cases;
  for (const json& object : *list) {
    LoadedCase loaded;
    loaded.value.name = fmt::format("case {}", cases.size());
    if (Status status = ParseCase(object, loaded.value); !status.ok()) {
      loaded.error = std::move(status).error().AddContext("reading the case");
    }
    cases.push_back(std::move(loaded));
  }
  return cases;
}

Result<std::vector<std::string>> FindCaseFiles(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(path, error)) {
    // The entries' own calls without an error code throw; these do not.
    for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".json") files.push_back(at->path().string());
    }
  } else if (fs::is_regular_file(path, error)) {
    files.push_back(path);
  }
  INVALID_IF(files.empty(), "there is no file of cases ({})", path);
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  INVALID_IF(!file.is_open() || file.bad(), "the file ({}) cannot be read", path);
  return text;
}

}  // namespace webnnd::conformance
