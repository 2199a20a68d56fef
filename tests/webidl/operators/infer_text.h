// Inference as text, so that a test of an operator is a table of one line a case.
#ifndef WEBNND_TESTS_WEBIDL_OPERATORS_INFER_TEXT_H_
#define WEBNND_TESTS_WEBIDL_OPERATORS_INFER_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// "float32[2,3]"; fails the test and gives a scalar where that is no valid descriptor.
OperandDescriptor Descriptor(std::string_view text);

// Runs InferOperator on operands such as "float32[2,3] - int8[]", where "-" is an absent one; slots
// missing at the end are absent too, except in a list. Gives the results in the same form, or the
// error's message, with "NotSupported: " before it where that is the cause.
std::string Infer(OperatorKind kind, std::string_view operands,
                  const OperatorAttributes& attributes, const std::string& label = "");

// The same with the operator's default attributes.
std::string Infer(OperatorKind kind, std::string_view operands);

// What `operands` and `attributes` give: results, or a message without the operator's name.
struct InferCase {
  std::string_view operands;
  OperatorAttributes attributes;
  std::string_view outcome;
};

// Every case gives its outcome, in which $BYTES_MAX stands for limits::kTensorBytesMax; an outcome
// that begins with a data type is a success, else it is
// expected behind "<operator>: ".
void ExpectOutcomes(OperatorKind kind, std::initializer_list<InferCase> cases);

// The same for operators without attributes, or with their defaults.
struct PlainInferCase {
  std::string_view operands;
  std::string_view outcome;
};
void ExpectOutcomes(OperatorKind kind, std::initializer_list<PlainInferCase> cases);

// Operands that are all float32 and fit. Each optional or required one but the first, made float16,
// is refused as not of the first's type.
void ExpectSameTypes(OperatorKind kind, std::string_view operands,
                     const OperatorAttributes& attributes);

}  // namespace webnnd::webidl

#endif  // WEBNND_TESTS_WEBIDL_OPERATORS_INFER_TEXT_H_
