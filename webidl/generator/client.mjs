// client/generated: the options structs and methods of GraphBuilder.

import { comment, cppType, enumName, fieldDeclaration, header, snake } from './cpp.mjs';
import { withoutPrefix } from './reader.mjs';

const optionsName = (idl) => withoutPrefix(idl);

function isOperandSequence(type) {
  return type.kind === 'sequence' && type.of[0].kind === 'operand';
}

function optionsStruct(model, idl) {
  const users = model.operators.filter((operator) => operator.options === idl);
  const members = model.optionsMembers(idl).filter((member) => member.name !== 'label');
  const lines = members.map((member) => member.type.kind === 'operand'
    ? `  std::optional<Operand> ${snake(member.name)};`
    : `  ${fieldDeclaration(member)}`);
  const doc = idl === 'MLOperatorOptions'
    ? `${idl}: of every operator without options of its own.`
    : `${idl}: of ${users.map((operator) => operator.name).join(', ')}.`;
  return `${comment(doc)}
struct ${optionsName(idl)} {
${lines.map((line) => `${line}\n`).join('')}  std::string label;
};
`;
}

export function clientOptions(model) {
  const names = [...new Set(model.operators.map((operator) => operator.options))].sort();
  return `${header(model)}// Options of the builder's methods, and WebNN's enums for the client.
#ifndef WEBNND_CLIENT_GENERATED_OPTIONS_H_
#define WEBNND_CLIENT_GENERATED_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/operand.h"
#include "webidl/generated/types.h"

namespace webnn {

using webnnd::webidl::Dimension;
using webnnd::webidl::DynamicDimension;
using webnnd::webidl::Number;
using webnnd::webidl::Sizes;
${model.enums.map(({ idl }) => `using webnnd::webidl::${enumName(idl)};`).join('\n')}

// Members without a default may stay absent; an absent list is not an empty one. \`label\` names
// the operator in error messages.

${names.map((idl) => optionsStruct(model, idl)).join('\n')}
}  // namespace webnn

#endif  // WEBNND_CLIENT_GENERATED_OPTIONS_H_
`;
}

// "const Operand& input", "uint32_t axis", "std::vector<uint32_t> new_shape".
function parameter({ name, type }) {
  if (type.kind === 'operand') return `const Operand& ${snake(name)}`;
  if (isOperandSequence(type)) return `const std::vector<Operand>& ${snake(name)}`;
  return `${cppType(type)} ${snake(name)}`;
}

function returnType(operator) {
  return operator.resultList ? 'webnnd::Result<std::vector<Operand>>' : 'webnnd::Result<Operand>';
}

// Breaks a declaration after its opening parenthesis, four columns in.
function declaration(operator, prefix, suffix, indent) {
  const parameters = [...operator.positional.map(parameter),
                      `const ${optionsName(operator.options)}& options${prefix ? '' : ' = {}'}`];
  const head = `${indent}${returnType(operator)} ${prefix}${operator.pascal}(`;
  const oneLine = `${head}${parameters.join(', ')})${suffix}`;
  if (oneLine.length <= 100) return oneLine;
  const lines = [];
  let line = `${indent}    `;
  parameters.forEach((text, i) => {
    const piece = i + 1 < parameters.length ? `${text}, ` : `${text})${suffix}`;
    if (line.trim() && line.length + piece.trimEnd().length > 100) {
      lines.push(line.trimEnd());
      line = `${indent}    `;
    }
    line += piece;
  });
  return [head, ...lines, line].join('\n');
}

function anchor(model, { name }) {
  return `${model.specification}#dom-mlgraphbuilder-${name.toLowerCase()}`;
}

export function clientMethodDeclarations(model) {
  const methods = model.operators.map((operator) =>
    `${comment(`${operator.name}, ${anchor(model, operator)}`, '  ')}
${declaration(operator, '', ';', '  ')}`);
  return `${header(model)}  // For the public part of class GraphBuilder (client/graph_builder.h).

${methods.join('\n\n')}
`;
}

function slotExpressions(operator) {
  return operator.slots.map(({ name, optional }) =>
    optional ? `Optional(options.${snake(name)})` : `&${snake(name)}`);
}

function attributesExpression(operator) {
  if (operator.attributes === 'NoAttributes') return 'webnnd::webidl::NoAttributes{}';
  const positional = operator.positionalAttributes.map(({ name, type }) => {
    const byMove = ['sequence', 'sizes', 'union', 'number', 'string'].includes(type.kind);
    return `          .${snake(name)} = ${byMove ? `std::move(${snake(name)})` : snake(name)},\n`;
  });
  const members = operator.optionAttributes.map(
    ({ name }) => `          .${snake(name)} = options.${snake(name)},\n`);
  return `webnnd::webidl::${operator.attributes}{\n${[...positional, ...members].join('')}      }`;
}

function slotsStatement(operator) {
  if (operator.operandList) {
    const list = snake(operator.slots[0].name);
    return `  std::vector<const Operand*> slots;
  slots.reserve(${list}.size());
  for (const Operand& operand : ${list}) slots.push_back(&operand);`;
  }
  return `  const Operand* const slots[] = {${slotExpressions(operator).join(', ')}};`;
}

function methodDefinition(operator) {
  const call = `AddOperator(
      webnnd::webidl::OperatorKind::${operator.constant}, slots,
      ${attributesExpression(operator)},
      options.label)`;
  return `${declaration(operator, 'GraphBuilder::', ' {', '')}
${slotsStatement(operator)}
  return ${operator.resultList ? call : `Single(${call})`};
}
`;
}

export function clientMethodDefinitions(model) {
  return `${header(model)}#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/generated/options.h"
#include "client/graph_builder.h"
#include "webidl/generated/types.h"

namespace webnn {

namespace {

const Operand* Optional(const std::optional<Operand>& operand) {
  return operand ? &*operand : nullptr;
}

webnnd::Result<Operand> Single(webnnd::Result<std::vector<Operand>> results) {
  ASSIGN_OR_RETURN(std::vector<Operand> operands, std::move(results));
  CHECK(operands.size() == 1);
  return std::move(operands.front());
}

}  // namespace

${model.operators.map(methodDefinition).join('\n')}
}  // namespace webnn
`;
}
