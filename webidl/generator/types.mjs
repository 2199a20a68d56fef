// webidl/generated/types.h, types.cc and enum_names.h: enums, attribute structs, operators.

import { comment, constant, enumName, fieldDeclaration, header, snake } from './cpp.mjs';

function enumDeclaration({ idl, values }) {
  const name = enumName(idl);
  const constants = values.map((value) => `  ${constant(value)},`).join('\n');
  return `// ${idl}
enum class ${name} : uint8_t {
${constants}
};
inline constexpr uint32_t k${name}Count = ${values.length};
std::string_view ToString(${name} value);
std::optional<${name}> ${name}FromString(std::string_view name);
`;
}

function structDeclaration(name, doc, fields) {
  const lines = fields.map((field) => `  ${fieldDeclaration(field)}`).join('\n');
  return `${comment(doc)}
struct ${name} {
${lines}${lines ? '\n\n' : ''}  friend bool operator==(const ${name}&, const ${name}&) = default;
};
`;
}

function visitors({ name, fields }) {
  const body = fields.map((field) => `  v("${field.name}", a.${snake(field.name)});\n`).join('');
  const [a, v] = fields.length ? [' a', ' v'] : ['', ''];
  return ['', 'const '].map((qualifier) => `template <class V>
void VisitFields(${qualifier}${name}&${a}, V&&${v}) {
${body}}
`).join('');
}

function attributeStructs(model) {
  return [{ name: 'NoAttributes', fields: [], doc: 'Operators without attributes.' },
          ...model.attributeStructs.map((item) =>
            ({ ...item, doc: `Attributes of ${item.operators.join(', ')}.` }))];
}

export function typesHeader(model) {
  const structs = attributeStructs(model);
  return `${header(model)}// What WebNN names: enums, the attributes of each operator, and Operator.
#ifndef WEBNND_WEBIDL_GENERATED_TYPES_H_
#define WEBNND_WEBIDL_GENERATED_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "webidl/dimension.h"

namespace webnnd::webidl {

// MLNumber: a bigint arrives as int64_t or uint64_t, whichever holds it.
using Number = std::variant<double, int64_t, uint64_t>;

${model.enums.map(enumDeclaration).join('\n')}
// The draft's methods of MLGraphBuilder that make operators, in alphabetical order.
enum class OperatorKind : uint8_t {
${model.operators.map((operator) => `  ${operator.constant},`).join('\n')}
};
inline constexpr uint32_t kOperatorKindCount = ${model.operators.length};
// The method's name in the draft: "conv2d".
std::string_view OperatorName(OperatorKind kind);
std::optional<OperatorKind> OperatorKindFromName(std::string_view name);

// Attributes are what an operator has besides operands and label: positional arguments first, then
// members of its options. An absent list (nullopt) is not an empty one.

${structs.map((item) => structDeclaration(item.name, item.doc, item.fields)).join('\n')}
// Those of one operator, whichever it is. What it takes to copy, move, destroy and compare all of
// them is compiled in types.cc alone, and not again in each source that has an operator.
class OperatorAttributes : public std::variant<
${structs.map((item) => `    ${item.name}`).join(',\n')}> {
 public:
  OperatorAttributes();
${structs.map((item) => `  OperatorAttributes(${item.name} attributes);  // NOLINT`).join('\n')}
  OperatorAttributes(const OperatorAttributes& other);
  OperatorAttributes(OperatorAttributes&& other) noexcept;
  OperatorAttributes& operator=(const OperatorAttributes& other);
  OperatorAttributes& operator=(OperatorAttributes&& other) noexcept;
  ~OperatorAttributes();

  friend bool operator==(const OperatorAttributes& a, const OperatorAttributes& b);
};

// The attributes that the operator has, with the draft's defaults.
OperatorAttributes DefaultAttributes(OperatorKind kind);
// Whether \`attributes\` is of the type that the operator has.
bool AttributesMatch(OperatorKind kind, const OperatorAttributes& attributes);

// One call of a builder method. Operand ids are relative to the graph; 0 stands for an optional
// operand that is absent. \`operands\` stand in the order of the signature's slots (signatures.h).
struct Operator {
  OperatorKind kind = OperatorKind{};
  std::vector<uint32_t> operands;
  std::vector<uint32_t> results;
  std::string label;
  OperatorAttributes attributes;

  friend bool operator==(const Operator&, const Operator&) = default;
};

// Reflection: VisitFields(a, v) calls v("axes", a.axes) for each field, by its IDL name.
${structs.map(visitors).join('\n')}
}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_GENERATED_TYPES_H_
`;
}

// A header of its own: only code that visits fields generically needs it.
export function enumNamesHeader(model) {
  return `${header(model)}// EnumFromString<Enum>(name): one name for the functions of types.h, for code that does not know
// which enum it has, such as visitors of attributes.
#ifndef WEBNND_WEBIDL_GENERATED_ENUM_NAMES_H_
#define WEBNND_WEBIDL_GENERATED_ENUM_NAMES_H_

#include <optional>
#include <string_view>

#include "webidl/generated/types.h"

namespace webnnd::webidl {

template <class Enum>
std::optional<Enum> EnumFromString(std::string_view name) = delete;

${model.enums.map(({ idl }) => {
    const name = enumName(idl);
    return `template <>
inline std::optional<${name}> EnumFromString(std::string_view name) {
  return ${name}FromString(name);
}`;
  }).join('\n')}

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_GENERATED_ENUM_NAMES_H_
`;
}

function nameTable(table, values) {
  return `constexpr std::string_view ${table}[] = {
${values.map((value) => `    "${value}",`).join('\n')}
};
`;
}

function enumDefinition({ idl }) {
  const name = enumName(idl);
  return `std::string_view ToString(${name} value) {
  return k${name}Names[static_cast<size_t>(value)];
}
std::optional<${name}> ${name}FromString(std::string_view name) {
  return Find<${name}>(k${name}Names, name);
}
`;
}

function defaultsCases(model) {
  const structs = model.attributeStructs.map((item) => {
    const cases = model.operators.filter((operator) => operator.attributes === item.name)
      .map((operator) => `    case OperatorKind::${operator.constant}:`);
    return `${cases.join('\n')}\n      return ${item.name}{};`;
  });
  return structs.join('\n');
}

function attributesConstructor({ name, fields }) {
  const value = fields.length ? 'std::move(attributes)' : 'attributes';
  return `OperatorAttributes::OperatorAttributes(${name} attributes)
    : variant(${value}) {}`;
}

export function typesSource(model) {
  return `${header(model)}#include "webidl/generated/types.h"

#include <cstddef>
#include <utility>

namespace webnnd::webidl {

namespace {

${model.enums.map(({ idl, values }) => nameTable(`k${enumName(idl)}Names`, values)).join('\n')}
${nameTable('kOperatorNames', model.operators.map((operator) => operator.name))}
template <class Enum, size_t kCount>
std::optional<Enum> Find(const std::string_view (&names)[kCount], std::string_view name) {
  for (size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

${model.enums.map(enumDefinition).join('\n')}
std::string_view OperatorName(OperatorKind kind) {
  return kOperatorNames[static_cast<size_t>(kind)];
}
std::optional<OperatorKind> OperatorKindFromName(std::string_view name) {
  return Find<OperatorKind>(kOperatorNames, name);
}

OperatorAttributes::OperatorAttributes() = default;
${attributeStructs(model).map(attributesConstructor).join('\n')}
OperatorAttributes::OperatorAttributes(const OperatorAttributes& other) = default;
OperatorAttributes::OperatorAttributes(OperatorAttributes&& other) noexcept = default;
OperatorAttributes& OperatorAttributes::operator=(const OperatorAttributes& other) = default;
OperatorAttributes& OperatorAttributes::operator=(OperatorAttributes&& other) noexcept = default;
OperatorAttributes::~OperatorAttributes() = default;

bool operator==(const OperatorAttributes& a, const OperatorAttributes& b) {
  return static_cast<const OperatorAttributes::variant&>(a) ==
         static_cast<const OperatorAttributes::variant&>(b);
}

OperatorAttributes DefaultAttributes(OperatorKind kind) {
  switch (kind) {
${defaultsCases(model)}
    default:
      return NoAttributes{};
  }
}

bool AttributesMatch(OperatorKind kind, const OperatorAttributes& attributes) {
  return attributes.index() == DefaultAttributes(kind).index();
}

}  // namespace webnnd::webidl
`;
}
