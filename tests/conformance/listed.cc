#include "tests/conformance/listed.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "webidl/operator_table.h"

namespace webnnd::conformance {
namespace {

// Sorted.
constexpr std::string_view kOperators[] = {
    "add",       "argMax",   "cast",      "concat",     "cumulativeSum", "dequantizeLinear",
    "div",       "equal",    "exp",       "expand",     "gather",        "gemm",
    "greater",   "identity", "lesser",    "logicalAnd", "matmul",        "max",
    "min",       "mul",      "neg",       "pow",        "reduceMax",     "reduceMean",
    "reduceSum", "reshape",  "scatterND", "sigmoid",    "slice",         "softmax",
    "split",     "sqrt",     "sub",       "transpose",  "where",
};
static_assert(std::is_sorted(std::begin(kOperators), std::end(kOperators)));

constexpr webidl::DataTypeSet kTypes = {
    webidl::OperandDataType::kFloat32, webidl::OperandDataType::kInt32,
    webidl::OperandDataType::kInt64,   webidl::OperandDataType::kUint8,
    webidl::OperandDataType::kInt8,    webidl::OperandDataType::kInt4,
    webidl::OperandDataType::kUint4,
};

}  // namespace

bool IsListed(const Case& test) {
  return std::all_of(test.calls.begin(), test.calls.end(),
                     [](const CaseCall& call) {
                       return std::binary_search(std::begin(kOperators), std::end(kOperators),
                                                 call.name);
                     }) &&
         std::all_of(test.inputs.begin(), test.inputs.end(),
                     [](const CaseInput& input) {
                       return kTypes.Contains(input.descriptor.data_type());
                     }) &&
         std::all_of(test.outputs.begin(), test.outputs.end(), [](const CaseOutput& output) {
           return kTypes.Contains(output.descriptor.data_type());
         });
}

}  // namespace webnnd::conformance
