// webidl/generated/signatures.h and signatures.cc: operands, arguments and limits of each operator.

import { constant, header } from './cpp.mjs';

export function signaturesHeader(model) {
  return `${header(model)}// Signatures of the builder's methods: which operands an operator
// takes, in which order the draft's method names its arguments, and which member of its support
// limits is about what.
#ifndef WEBNND_WEBIDL_GENERATED_SIGNATURES_H_
#define WEBNND_WEBIDL_GENERATED_SIGNATURES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "webidl/generated/types.h"

namespace webnnd::webidl {

// Operators whose rows share a file in webidl/operators.
enum class OperatorFamily : uint8_t {
${model.families.map((family) => `  ${constant(family)},`).join('\n')}
};
inline constexpr uint32_t kOperatorFamilyCount = ${model.families.length};

// An operand of the operator, by the IDL name of the argument or the member of its options.
struct OperandSlot {
  std::string_view name;
  bool optional = false;
};

enum class ArgumentKind : uint8_t {
  kOperand,
  kOperandList,
  kAttribute,
  kOptions,
};

// A positional argument of the draft's method.
struct Argument {
  std::string_view name;
  ArgumentKind kind;
};

enum class LimitRole : uint8_t {
  kSlot,
  kOutput,
};

// A member of the operator's MLxxxSupportLimits: it is about slot \`index\` or output \`index\`.
struct LimitMember {
  std::string_view name;
  LimitRole role;
  uint32_t index;
};

struct OperatorSignature {
  OperatorKind kind;
  // Required operands in order, then the optional ones of the options in the order of the IDL. With
  // \`operand_list\`, one slot that stands for any number of operands.
  std::span<const OperandSlot> slots;
  uint32_t required_slots;
  bool operand_list;
  // Whether the method returns a sequence.
  bool result_list;
  std::span<const Argument> arguments;
  std::span<const LimitMember> limits;
  OperatorFamily family;
};

const OperatorSignature& GetSignature(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_GENERATED_SIGNATURES_H_
`;
}

function argumentKind({ type }) {
  if (type.kind === 'operand') return 'kOperand';
  return type.kind === 'sequence' && type.of[0].kind === 'operand' ? 'kOperandList' : 'kAttribute';
}

function tables(operator) {
  const slots = operator.slots.map(({ name, optional }) => `{"${name}", ${optional}}`);
  const positional = operator.positional.map((item) => [item.name, argumentKind(item)]);
  const argumentRows = [...positional, ['options', 'kOptions']]
    .map(([name, kind]) => `{"${name}", ArgumentKind::${kind}}`);
  const limits = operator.limits.map(
    ({ name, role, index }) => `{"${name}", LimitRole::${role}, ${index}}`);
  const table = (type, suffix, rows) => {
    const lines = rows.map((row) => `    ${row},\n`).join('');
    return `constexpr ${type} k${operator.pascal}${suffix}[] = {\n${lines}};\n`;
  };
  return table('OperandSlot', 'Slots', slots) + table('Argument', 'Arguments', argumentRows) +
         table('LimitMember', 'Limits', limits);
}

function row(operator) {
  const required = operator.slots.filter((slot) => !slot.optional).length;
  return `    {OperatorKind::${operator.constant}, k${operator.pascal}Slots, ${required}, ` +
         `${operator.operandList}, ${operator.resultList},\n` +
         `     k${operator.pascal}Arguments, k${operator.pascal}Limits, ` +
         `OperatorFamily::${constant(operator.family)}},`;
}

export function signaturesSource(model) {
  return `${header(model)}#include "webidl/generated/signatures.h"

#include <cstddef>
#include <iterator>

namespace webnnd::webidl {

namespace {

${model.operators.map(tables).join('\n')}
constexpr OperatorSignature kSignatures[] = {
${model.operators.map(row).join('\n')}
};
static_assert(std::size(kSignatures) == kOperatorKindCount);

}  // namespace

const OperatorSignature& GetSignature(OperatorKind kind) {
  return kSignatures[static_cast<size_t>(kind)];
}

}  // namespace webnnd::webidl
`;
}
