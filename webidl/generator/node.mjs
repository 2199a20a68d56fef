// client/node/generated: the interfaces in JavaScript, as data for client/node/webidl.mjs, and their
// TypeScript declarations.

import { GeneratorError } from './reader.mjs';

// Dictionaries that arguments reach; the others are only ever returned.
function dictionariesConverted(model, interfaces) {
  const reached = new Set();
  const reach = (type) => {
    for (const inner of type.of ?? []) reach(inner);
    if (type.kind !== 'dictionary' || reached.has(type.idl)) return;
    reached.add(type.idl);
    const { parent, members } = model.dictionaries.get(type.idl);
    if (parent) reach({ kind: 'dictionary', idl: parent });
    for (const member of members) reach(member.type);
  };
  for (const { members } of interfaces) {
    for (const member of members) for (const argument of member.arguments ?? []) reach(argument.type);
  }
  return reached;
}

// Parents and members' types before those who use them.
function inOrder(model, names) {
  const ordered = new Set();
  const add = (name) => {
    if (ordered.has(name) || !names.has(name)) return;
    const { parent, members } = model.dictionaries.get(name);
    if (parent) add(parent);
    const inner = (type) => {
      if (type.kind === 'dictionary') add(type.idl);
      for (const part of type.of ?? []) inner(part);
    };
    for (const member of members) inner(member.type);
    ordered.add(name);
  };
  for (const name of [...names].sort()) add(name);
  return [...ordered];
}

// --- Types as expressions of webidl.mjs ----------------------------------------------------------

const RANGED = { int32: 'enforcedLong', uint32: 'enforcedUnsignedLong' };
const PLAIN = {
  boolean: 'boolean', uint32: 'unsignedLong', float: 'float', double: 'double', number: 'number',
};

function typeExpression(type) {
  const simple = (type.enforceRange ? RANGED : PLAIN)[type.kind];
  if (simple) return `idl.${simple}`;
  switch (type.kind) {
    case 'string': return `idl.${type.idl}`;
    case 'enum':
    case 'dictionary': return type.idl;
    case 'operand':
    case 'interface': return `idl.interfaceType('${type.idl}')`;
    case 'foreign': return type.idl === 'AllowSharedBufferSource' ? 'idl.allowSharedBufferSource'
      : `idl.foreign('${type.idl}')`;
    case 'sequence':
    case 'sizes': return `idl.sequence(${typeExpression(type.of[0])})`;
    case 'record': return `idl.record(${type.of.map(typeExpression).join(', ')})`;
    case 'union': return `idl.union(${type.of.map(typeExpression).join(', ')})`;
    default: throw new GeneratorError(`type without a converter (${type.kind} ${type.idl ?? ''})`);
  }
}

function defaultExpression({ type, value }) {
  switch (type) {
    case 'dictionary': return '{}';
    case 'string': return `'${value}'`;
    default: return String(value);
  }
}

// What becomes of the value that the implementation returns.
function resultExpression(type) {
  switch (type.kind) {
    case 'operand':
    case 'interface': return `idl.wrapped('${type.idl}')`;
    case 'sequence': return `idl.each(${resultExpression(type.of[0])})`;
    case 'Promise': return `idl.promise(${resultExpression(type.of[0])})`;
    case 'foreign': return `idl.refused('${type.idl}')`;
    default: return 'idl.plain';
  }
}

function enumLines({ idl, values }) {
  return `const ${idl} = idl.enumeration('${idl}', [
${values.map((value) => `  '${value}',\n`).join('')}]);
`;
}

// Members in lexicographical order, as WebIDL reads them.
function dictionaryLines(model, name) {
  const { parent, members } = model.dictionaries.get(name);
  const rows = [...members].sort((a, b) => (a.name < b.name ? -1 : 1)).map((member) => {
    const extra = member.required ? ', { required: true }'
      : member.default ? `, { value: ${defaultExpression(member.default)} }` : '';
    return `  ['${member.name}', ${typeExpression(member.type)}${extra}],\n`;
  });
  return `const ${name} = idl.dictionary('${name}', ${parent ?? 'null'}, [
${rows.join('')}]);
`;
}

function argumentLines(list, indent) {
  return list.map(({ name, type, optional, default: value }) => {
    const extra = !optional ? '' : value ? `, { value: ${defaultExpression(value)} }`
      : ', { optional: true }';
    return `${indent}['${name}', ${typeExpression(type)}${extra}],\n`;
  }).join('');
}

function overloadLines(member) {
  const result = resultExpression(member.type);
  const mark = member.extension ? ', { extension: true }' : '';
  if (!member.arguments.length) return `      [${result}, []${mark}],\n`;
  return `      [${result}, [\n${argumentLines(member.arguments, '        ')}      ]${mark}],\n`;
}

function operatorLines(operator, member) {
  const operands = operator.operandList ? `'${operator.slots[0].name}'`
    : `[${operator.slots.map(({ name }) => `'${name}'`).join(', ')}]`;
  return `    ['${operator.name}', ${resultExpression(member.type)}, ${operands}, [
${argumentLines(member.arguments, '      ')}    ]],
`;
}

function interfaceLines(model, item) {
  const operators = new Map(item.idl === 'MLGraphBuilder'
    ? model.operators.map((operator) => [operator.name, operator]) : []);
  const attributes = item.members.filter((member) => member.kind === 'attribute').map(
    ({ name, type }) => `    ['${name}', ${resultExpression(type)}],\n`);
  const constructors = item.members.filter((member) => member.kind === 'constructor');
  const operations = new Map();
  for (const member of item.members) {
    if (member.kind !== 'operation' || operators.has(member.name)) continue;
    operations.set(member.name, (operations.get(member.name) ?? '') + overloadLines(member));
  }
  const operatorRows = item.members.filter((member) => operators.has(member.name))
    .map((member) => operatorLines(operators.get(member.name), member));
  return `export const ${item.idl} = idl.defineInterface('${item.idl}', {
${constructors.map((c) => `  constructor: [\n${argumentLines(c.arguments, '    ')}  ],\n`).join('')}\
  attributes: [
${attributes.join('')}  ],
  operations: [
${[...operations].map(([name, rows]) => `    ['${name}', [\n${rows}    ]],\n`).join('')}  ],
${operatorRows.length ? `  // What makes operators: [name, result, operands, arguments].
  operators: [
${operatorRows.join('')}  ],\n` : ''}});
`;
}

export function nodeInterfaces(model) {
  const { interfaces } = model;
  const names = inOrder(model, dictionariesConverted(model, interfaces));
  return `// Generated by webidl/generate.mjs from ${model.source}. Do not edit.
// The draft's interfaces for Node.js, as client/node/webidl.mjs makes them.

import * as idl from '../webidl.mjs';

${model.enums.map(enumLines).join('\n')}
${names.map((name) => dictionaryLines(model, name)).join('\n')}
${interfaces.map((item) => interfaceLines(model, item)).join('\n')}`;
}

// --- TypeScript ----------------------------------------------------------------------------------

const TYPESCRIPT = {
  undefined: 'undefined', boolean: 'boolean', int32: 'number', uint32: 'number', uint64: 'number',
  float: 'number', double: 'number', number: 'bigint | number', string: 'string',
  bytes: 'ArrayBuffer',
};

function typescriptType(type, isResult = false) {
  if (TYPESCRIPT[type.kind]) return TYPESCRIPT[type.kind];
  const inner = (type.of ?? []).map((part) => typescriptType(part, isResult));
  switch (type.kind) {
    case 'sequence':
    case 'sizes': return isResult ? `${grouped(inner[0])}[]` : `Iterable<${inner[0]}>`;
    case 'FrozenArray': return `readonly ${inner[0]}[]`;
    case 'Promise': return `Promise<${inner[0] === 'undefined' ? 'void' : inner[0]}>`;
    case 'record': return `Record<string, ${inner[1]}>`;
    case 'union': return inner.join(' | ');
    case 'foreign': return type.idl === 'AllowSharedBufferSource' ? type.idl : 'never';
    default: return type.idl;
  }
}

const grouped = (text) => (text.includes('|') ? `(${text})` : text);

function typescriptArguments(list) {
  return list.map(({ name, type, optional }) =>
    `${name}${optional ? '?' : ''}: ${typescriptType(type)}`).join(', ');
}

function typescriptMember(member) {
  switch (member.kind) {
    case 'attribute': return `  readonly ${member.name}: ${typescriptType(member.type, true)};\n`;
    case 'constructor': return `  constructor(${typescriptArguments(member.arguments)});\n`;
    default: {
      const type = typescriptType(member.type, true);
      return `  ${member.name}(${typescriptArguments(member.arguments)}): ` +
             `${type === 'undefined' ? 'void' : type};\n`;
    }
  }
}

// What takes or gives a foreign type can only fail.
function isCallable(member) {
  const refused = (type) => type.kind === 'foreign' && type.idl !== 'AllowSharedBufferSource';
  return ![...(member.arguments ?? []).map(({ type }) => type), member.type ?? {}].some(refused);
}

function typescriptInterface({ idl, members }) {
  // Without a constructor of its own no script can make one.
  const hidden = members.some((member) => member.kind === 'constructor')
    ? '' : '  private constructor();\n';
  return `export class ${idl} {
${hidden}${members.filter(isCallable).map(typescriptMember).join('')}}
`;
}

export function nodeDeclarations(model) {
  const { interfaces } = model;
  const converted = dictionariesConverted(model, interfaces);
  const dictionaries = [...model.dictionaries.values()].map(({ idl, parent, members }) => {
    const isResult = !converted.has(idl);
    const rows = members.map((member) =>
      `  ${member.name}${member.required ? '' : '?'}: ${typescriptType(member.type, isResult)};\n`);
    return `export interface ${idl}${parent ? ` extends ${parent}` : ''} {\n${rows.join('')}}\n`;
  });
  const enums = model.enums.map(({ idl, values }) =>
    `export type ${idl} =\n${values.map((value) => `  | '${value}'`).join('\n')};\n`);
  return `// Generated by webidl/generate.mjs from ${model.source}. Do not edit.

export type AllowSharedBufferSource = ArrayBuffer | SharedArrayBuffer | ArrayBufferView;

${[...enums, ...dictionaries, ...interfaces.map(typescriptInterface)].join('\n')}
export const ml: ML;
`;
}
