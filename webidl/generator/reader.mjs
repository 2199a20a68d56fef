// IDL text -> model: parses, refuses what it does not know, merges partials, applies the overrides
// and finds the operators. Everything the emitters need is plain data in what readModel returns.

import { parse } from 'webidl2';

export class GeneratorError extends Error {}

function fail(where, what) {
  throw new GeneratorError(`${where}: ${what}`);
}

// Everything below is an allow-list: a new construct in the draft must be looked at by a person.
const KNOWN_EXTENDED_ATTRIBUTES = new Set(
  ['SecureContext', 'SameObject', 'Exposed', 'EnforceRange']);
const KNOWN_DEFAULTS = new Set(['number', 'string', 'boolean', 'dictionary']);
const PRIMITIVES = {
  'undefined': 'undefined',
  'boolean': 'boolean',
  'long': 'int32',
  'unsigned long': 'uint32',
  'unsigned long long': 'uint64',
  'float': 'float',
  'double': 'double',
  'unrestricted double': 'double',
  'bigint': 'bigint',
  'USVString': 'string',
  'DOMString': 'string',
  'ArrayBuffer': 'bytes',
};
// What becomes of a foreign type: refused by name, the caller's bytes, or the host of a mixin.
const FOREIGN_TREATMENTS = new Set(['NotSupported', 'Bytes', 'Host']);
const GENERICS = { sequence: 1, FrozenArray: 1, Promise: 1, record: 2 };

function checkExtendedAttributes(node, where) {
  for (const attribute of node.extAttrs ?? []) {
    if (!KNOWN_EXTENDED_ATTRIBUTES.has(attribute.name)) {
      fail(where, `unknown extended attribute (${attribute.name})`);
    }
  }
}

const isRanged = (node) =>
  node.extAttrs.some((attribute) => attribute.name === 'EnforceRange');

const isDimension = (type) => type.kind === 'union' && type.of.length === 2 &&
  type.of[0].kind === 'uint32' && type.of[1].idl === 'MLDynamicDimension';

class Reader {
  constructor(overrides) {
    this.overrides = overrides;
    this.enums = new Map();
    this.dictionaries = new Map();
    this.interfaces = new Map();
    this.mixins = new Map();
    this.typedefs = new Map();
    this.includes = [];
    this.extensions = new Set();  // Members that are ours and not the draft's.
  }

  // First pass: collect definitions by name, partials after what they extend.
  collect(definitions) {
    for (const definition of definitions) if (!definition.partial) this.collectOne(definition);
    for (const definition of definitions) if (definition.partial) this.collectPartial(definition);
  }

  collectOne(definition) {
    const where = definition.name ?? definition.type;
    checkExtendedAttributes(definition, where);
    switch (definition.type) {
      case 'enum':
        return this.define(this.enums, where, { values: definition.values.map((v) => v.value) });
      case 'dictionary':
        return this.define(this.dictionaries, where,
                           { parent: definition.inheritance, fields: [...definition.members] });
      case 'interface':
        if (definition.inheritance) fail(where, `unknown syntax (interface inheritance)`);
        return this.define(this.interfaces, where, { nodes: [...definition.members] });
      case 'interface mixin':
        return this.define(this.mixins, where, { nodes: [...definition.members] });
      case 'typedef':
        return this.define(this.typedefs, where, { idlType: definition.idlType });
      case 'includes':
        return this.includes.push({ target: definition.target, mixin: definition.includes });
      default:
        fail(where, `unknown syntax (${definition.type})`);
    }
  }

  define(map, name, entry) {
    const all = [this.enums, this.dictionaries, this.interfaces, this.mixins, this.typedefs];
    if (all.some((other) => other.has(name))) fail(name, 'defined twice');
    map.set(name, { idl: name, ...entry });
  }

  collectPartial(definition) {
    const where = definition.name;
    checkExtendedAttributes(definition, where);
    if (definition.type === 'dictionary' && this.dictionaries.has(where)) {
      this.dictionaries.get(where).fields.push(...definition.members);
    } else if (definition.type === 'interface' && this.interfaces.has(where)) {
      this.interfaces.get(where).nodes.push(...definition.members);
    } else {
      fail(where, `unknown syntax (partial ${definition.type} of something undefined)`);
    }
  }

  // Second pass: resolve types and members.
  resolve() {
    for (const [name, treatment] of Object.entries(this.overrides.foreignTypes)) {
      if (!FOREIGN_TREATMENTS.has(treatment)) fail(name, `unknown treatment (${treatment})`);
    }
    this.applyEnumOverrides();
    for (const dictionary of this.dictionaries.values()) this.resolveDictionary(dictionary);
    this.applyMemberOverrides();
    for (const item of [...this.interfaces.values(), ...this.mixins.values()]) {
      item.members = item.nodes.map((node) => this.member(node, item.idl));
      delete item.nodes;
    }
    this.applyArgumentOverrides();
    for (const { target, mixin } of this.includes) {
      if (!this.mixins.has(mixin)) fail(target, `unknown mixin (${mixin})`);
      if (!this.interfaces.has(target) && !this.overrides.foreignTypes[target]) {
        fail(target, 'unknown type');
      }
    }
    for (const typedef of this.typedefs.values()) {
      typedef.type = this.type(typedef.idlType, typedef.idl);
    }
  }

  applyEnumOverrides() {
    for (const [name, values] of Object.entries(this.overrides.enumValues)) {
      if (!this.enums.has(name)) fail(name, 'overridden enum does not exist');
      const own = this.enums.get(name).values;
      for (const value of values) {
        if (own.includes(value)) fail(name, `override is no longer needed (${value})`);
        own.push(value);
      }
    }
  }

  resolveDictionary(dictionary) {
    if (dictionary.parent && !this.dictionaries.has(dictionary.parent)) {
      fail(dictionary.idl, `unknown parent (${dictionary.parent})`);
    }
    dictionary.members = dictionary.fields.map((field) => this.member(field, dictionary.idl));
    delete dictionary.fields;
  }

  // A list of sizes that may be dynamic becomes a type of its own.
  applyArgumentOverrides() {
    for (const [path, text] of Object.entries(this.overrides.argumentTypes)) {
      const [owner, operation, name] = path.split('.');
      const member = this.interfaces.get(owner)?.members.find((m) => m.name === operation);
      const argument = member?.arguments?.find((a) => a.name === name);
      if (!argument) fail(path, 'overridden argument does not exist');
      const [typedef] = parse(`typedef ${text} Replacement;`);
      const type = this.type(typedef.idlType, path);
      if (JSON.stringify(type) === JSON.stringify(argument.type)) {
        fail(path, 'override is no longer needed');
      }
      argument.type = type;
      argument.overridden = true;
    }
  }

  applyMemberOverrides() {
    for (const [path, text] of Object.entries(this.overrides.memberTypes)) {
      const [owner, name] = path.split('.');
      const member = this.dictionaries.get(owner)?.members.find((m) => m.name === name);
      if (!member) fail(path, 'overridden member does not exist');
      const [typedef] = parse(`typedef ${text} Replacement;`);
      member.type = this.type(typedef.idlType, path);
      member.overridden = true;
    }
  }

  member(node, owner) {
    const where = `${owner}.${node.name ?? node.type}`;
    checkExtendedAttributes(node, where);
    switch (node.type) {
      case 'field':
        return { kind: 'field', name: node.name, type: this.rangedType(node, where),
                 required: node.required, default: this.defaultValue(node.default, where) };
      case 'attribute':
        if (!node.readonly || node.special) fail(where, 'unknown syntax (attribute not readonly)');
        return { kind: 'attribute', name: node.name, type: this.type(node.idlType, where) };
      case 'constructor':
        return { kind: 'constructor', name: 'constructor', arguments: this.arguments(node, where) };
      case 'operation':
        if (node.special) fail(where, `unknown syntax (${node.special} operation)`);
        return { kind: 'operation', name: node.name, type: this.type(node.idlType, where),
                 arguments: this.arguments(node, where), extension: this.extensions.has(node) };
      default:
        fail(where, `unknown syntax (${node.type})`);
    }
  }

  arguments(node, where) {
    return node.arguments.map((argument) => {
      const path = `${where}(${argument.name})`;
      checkExtendedAttributes(argument, path);
      if (argument.variadic) fail(path, 'unknown syntax (variadic)');
      return { name: argument.name, type: this.rangedType(argument, path),
               optional: argument.optional, default: this.defaultValue(argument.default, path) };
    });
  }

  defaultValue(node, where) {
    if (!node) return undefined;
    if (!KNOWN_DEFAULTS.has(node.type)) {
      fail(where, `unknown syntax (default of type ${node.type})`);
    }
    return { type: node.type, value: node.value };
  }

  // `[EnforceRange] unsigned long axis`: the attribute belongs to the type, and stands before both.
  rangedType(node, where) {
    const type = this.type(node.idlType, where);
    return isRanged(node) ? { ...type, enforceRange: true } : type;
  }

  type(node, where) {
    checkExtendedAttributes(node, where);
    if (node.nullable) fail(where, 'unknown syntax (nullable type)');
    if (node.union) return this.unionType(node.idlType, where);
    if (node.generic) {
      if (GENERICS[node.generic] !== node.idlType.length) {
        fail(where, `unknown syntax (${node.generic}<...>)`);
      }
      const of = node.idlType.map((inner) => this.type(inner, where));
      // sequence<(unsigned long or MLDynamicDimension)>
      if (node.generic === 'sequence' && isDimension(of[0])) return { kind: 'sizes', of };
      return { kind: node.generic, of };
    }
    const type = this.namedType(node.idlType, where);
    return isRanged(node) ? { ...type, enforceRange: true } : type;
  }

  unionType(nodes, where) {
    const of = nodes.map((inner) => this.type(inner, where));
    const kinds = of.map((type) => type.kind).sort().join();
    // MLNumber: the C++ side tells 64-bit integers by their sign.
    return kinds === 'bigint,double' ? { kind: 'number' } : { kind: 'union', of };
  }

  namedType(name, where) {
    if (Object.hasOwn(PRIMITIVES, name)) return { kind: PRIMITIVES[name], idl: name };
    if (this.enums.has(name)) return { kind: 'enum', idl: name };
    if (this.dictionaries.has(name)) return { kind: 'dictionary', idl: name };
    if (this.interfaces.has(name)) {
      return { kind: name === 'MLOperand' ? 'operand' : 'interface', idl: name };
    }
    if (this.typedefs.has(name)) return this.type(this.typedefs.get(name).idlType, where);
    if (Object.hasOwn(this.overrides.foreignTypes, name)) return { kind: 'foreign', idl: name };
    fail(where, `unknown type (${name})`);
  }
}

const isOperandSequence = (type) => type.kind === 'sequence' && type.of[0].kind === 'operand';
const isOperandLike = (type) => type.kind === 'operand' || isOperandSequence(type);
// Draft methods that return operands and are not operators.
const SOURCES = new Set(['input', 'constant']);

export const capitalise = (name) => name[0].toUpperCase() + name.slice(1);
export const withoutPrefix = (name) => name.replace(/^ML/, '');

// Inherited members first, as WebIDL orders them.
function allMembers(reader, name) {
  const dictionary = reader.dictionaries.get(name);
  const inherited = dictionary.parent ? allMembers(reader, dictionary.parent) : [];
  return [...inherited, ...dictionary.members];
}

function readOperator(reader, method) {
  const where = `MLGraphBuilder.${method.name}`;
  const options = method.arguments.at(-1);
  if (!options?.optional || options.name !== 'options' || options.type.kind !== 'dictionary') {
    fail(where, 'the last argument is not an optional dictionary named options');
  }
  const positional = method.arguments.slice(0, -1);
  if (positional.some((argument) => argument.optional)) {
    fail(where, 'unknown syntax (optional argument)');
  }
  const members = allMembers(reader, options.type.idl);
  if (!members.some((member) => member.name === 'label')) fail(where, 'its options have no label');

  const operandArguments = positional.filter((argument) => isOperandLike(argument.type));
  const optionalOperands = members.filter((member) => member.type.kind === 'operand');
  if (optionalOperands.some((member) => member.required)) {
    fail(where, 'a required operand in options');
  }
  const operandList = operandArguments.some((argument) => isOperandSequence(argument.type));
  if (operandList && (operandArguments.length !== 1 || optionalOperands.length)) {
    fail(where, 'a list of operands beside other operands');
  }
  return {
    name: method.name,
    pascal: capitalise(method.name),
    constant: `k${capitalise(method.name)}`,
    options: options.type.idl,
    positional,
    operandList,
    resultList: isOperandSequence(method.type),
    slots: [...operandArguments.map(({ name }) => ({ name, optional: false })),
            ...optionalOperands.map(({ name }) => ({ name, optional: true }))],
    positionalAttributes: positional.filter((argument) => !isOperandLike(argument.type))
      .map(({ name, type }) => ({ name, type, required: true })),
    optionAttributes: members.filter(
      (member) => member.type.kind !== 'operand' && member.name !== 'label'),
  };
}

// Maps each member of the operator's MLxxxSupportLimits to a slot or an output.
function readLimits(reader, operator) {
  const entry = allMembers(reader, 'MLOpSupportLimits')
    .find((member) => member.name === operator.name);
  if (!entry) fail(`MLOpSupportLimits.${operator.name}`, 'missing');
  return allMembers(reader, entry.type.idl).map(({ name }) => {
    const slot = operator.slots.findIndex((candidate) => candidate.name === name);
    if (slot >= 0) return { name, role: 'kSlot', index: slot };
    const output = /^output(s|\d+)?$/.exec(name);
    if (!output) {
      fail(`${entry.type.idl}.${name}`, `neither an operand of ${operator.name} nor an output`);
    }
    return { name, role: 'kOutput', index: /^\d+$/.test(output[1] ?? '') ? Number(output[1]) : 0 };
  });
}

// Names the attribute structs and gives each operator its own: shared by the operators of one
// options dictionary where their positional attributes agree too.
function assignAttributes(operators) {
  const byOptions = groupBy(operators, (operator) => operator.options);
  const structs = new Map();
  for (const [options, group] of byOptions) {
    const signature = (operator) => JSON.stringify(operator.positionalAttributes);
    const shared = options !== 'MLOperatorOptions' &&
                   group.every((operator) => signature(operator) === signature(group[0]));
    for (const operator of group) {
      const fields = [...operator.positionalAttributes, ...operator.optionAttributes];
      if (fields.length === 0) {
        operator.attributes = 'NoAttributes';
        continue;
      }
      const stem = shared ? withoutPrefix(options).replace(/Options$/, '') : operator.pascal;
      operator.attributes = `${stem}Attributes`;
      if (!structs.has(operator.attributes)) {
        structs.set(operator.attributes,
                    { name: operator.attributes, stem, fields, operators: [] });
      }
      structs.get(operator.attributes).operators.push(operator.name);
    }
  }
  return [...structs.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

function assignFamilies(operators, families) {
  const familyOf = new Map();
  for (const [family, names] of Object.entries(families)) {
    for (const name of names) {
      if (familyOf.has(name)) fail(`families.${family}`, `operator in two families (${name})`);
      if (!operators.some((operator) => operator.name === name)) {
        fail(`families.${family}`, `no such operator (${name})`);
      }
      familyOf.set(name, family);
    }
  }
  for (const operator of operators) {
    if (!familyOf.has(operator.name)) fail('families', `operator in no family (${operator.name})`);
    operator.family = familyOf.get(operator.name);
  }
}

// Every dictionary must become something: attributes, limits or a hand-written type.
function checkDictionariesAccounted(reader, operators, overrides) {
  const used = new Set(['MLOperatorOptions', ...Object.keys(overrides.handwritten)]);
  for (const operator of operators) used.add(operator.options);
  for (const member of allMembers(reader, 'MLOpSupportLimits')) {
    if (member.type.kind === 'dictionary') used.add(member.type.idl);
  }
  for (const name of used) {
    if (!reader.dictionaries.has(name)) fail('overrides.json', `no such dictionary (${name})`);
  }
  for (const name of reader.dictionaries.keys()) {
    if (!used.has(name)) fail(name, 'dictionary with no C++ form: name it in overrides.json');
  }
}

// texts: IDL sources in order, the draft's first. Throws GeneratorError on anything unknown.
export function readModel({ texts, overrides, source }) {
  const reader = new Reader(overrides);
  // The draft's, then webidl/extensions.idl.
  const [draft, ...extensions] = texts.map((text) => parse(text));
  for (const definition of extensions.flat()) {
    for (const member of definition.members ?? []) reader.extensions.add(member);
  }
  reader.collect([draft, ...extensions].flat());
  reader.resolve();
  const operators = reader.interfaces.get('MLGraphBuilder').members
    .filter((member) => member.kind === 'operation' && isOperandLike(member.type) &&
                        !SOURCES.has(member.name))
    .map((method) => readOperator(reader, method))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [i, operator] of operators.entries()) {
    if (i && operators[i - 1].name === operator.name) {
      fail(operator.name, 'unknown syntax (overload)');
    }
    operator.limits = readLimits(reader, operator);
  }
  assignFamilies(operators, overrides.families);
  checkDictionariesAccounted(reader, operators, overrides);
  return {
    source,
    specification: 'https://www.w3.org/TR/webnn/',
    enums: [...reader.enums.values()],
    dictionaries: reader.dictionaries,
    interfaces: [...reader.interfaces.values()],
    mixins: [...reader.mixins.values()],
    includes: reader.includes,
    operators,
    families: Object.keys(overrides.families),
    optionsMembers: (name) => allMembers(reader, name),
    attributeStructs: assignAttributes(operators),
  };
}
