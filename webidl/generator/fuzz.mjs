// fuzz/generated: the grammar of operators, from which fuzzers make and change graphs.

import { enumName, header, isOptional, snake } from './cpp.mjs';
import { GeneratorError } from './reader.mjs';

// The source's method that chooses a value of the type, and what it must know besides the field.
function choice(type) {
  switch (type.kind) {
    case 'boolean': return { method: 'Boolean' };
    case 'int32':
    case 'uint32': return { method: 'Integer' };
    case 'float':
    case 'double': return { method: 'Real' };
    case 'number': return { method: 'MlNumber' };
    case 'enum': return { method: 'Enumerator', more: `webidl::k${enumName(type.idl)}Count` };
    case 'sequence': {
      const { method, more } = choice(type.of[0]);
      return { method: `${method}List`, more };
    }
    case 'sizes': return { method: 'SizeList' };
    case 'union': return { method: 'OneOf' };
    default: throw new GeneratorError(`type without a production (${type.kind})`);
  }
}

// Positional arguments are always chosen; a member of the options may also be left as it is by
// default, which where it has no default is absent.
function production(field) {
  const value = `a.${snake(field.name)}`;
  const { method, more } = choice(field.type);
  const call = (target) =>
    `s.${method}(${[`"${field.name}"`, target, ...(more ? [more] : [])].join(', ')});`;
  if (field.required) return `  ${call(value)}`;
  const target = isOptional(field) ? `${value}.emplace()` : value;
  return `  if (s.Given("${field.name}")) ${call(target)}`;
}

function productions({ name, fields }) {
  return `template <class Source>
void Choose(Source& s, webidl::${name}& a) {
${fields.map((field) => `${production(field)}\n`).join('')}}
`;
}

export function grammarHeader(model) {
  return `${header(model)}// The grammar of operators: what the attributes of each may be.
// Operands are in webidl/generated/signatures.h.
#ifndef WEBNND_FUZZ_GENERATED_GRAMMAR_H_
#define WEBNND_FUZZ_GENERATED_GRAMMAR_H_

#include <variant>

#include "webidl/generated/types.h"

namespace webnnd::fuzz {

// Asks \`s\` for each field of the attributes, in the order of the IDL, by its IDL name. Given says
// whether a member of the options is given. Lists, and the alternatives of OneOf, come empty.

template <class Source>
void Choose(Source&, webidl::NoAttributes&) {}

${model.attributeStructs.map(productions).join('\n')}
// The attributes of one call of the operator's method.
template <class Source>
webidl::OperatorAttributes ChooseAttributes(Source& s, webidl::OperatorKind kind) {
  webidl::OperatorAttributes attributes = webidl::DefaultAttributes(kind);
  std::visit([&s](auto& a) { Choose(s, a); }, attributes);
  return attributes;
}

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_GENERATED_GRAMMAR_H_
`;
}
