// Web IDL in JavaScript: converters for types, and interfaces made from tables of their members
// (generated/interfaces.mjs). An interface object holds an implementation, which sees converted
// values only and gives implementations back. https://webidl.spec.whatwg.org/

import { types, toUSVString } from 'node:util';

// --- Implementations behind interface objects ----------------------------------------------------

class Stamped {
  constructor(object) {
    return object;
  }
}

// Puts an implementation into an object that a script cannot take out or forge.
class Slot extends Stamped {
  #implementation;

  constructor(object, implementation) {
    super(object);
    this.#implementation = implementation;
  }

  static of(value) {
    return isObject(value) && #implementation in value ? value.#implementation : undefined;
  }
}

const prototypes = new Map();
const implementations = new Map();

// Once, before any object is made: the classes of implementations by interface name.
export function implement(classes) {
  for (const [name, implementation] of Object.entries(classes)) {
    implementations.set(name, implementation);
  }
}

export function wrap(name, implementation) {
  const object = Object.create(prototypes.get(name));
  new Slot(object, implementation);
  return object;
}

// What gives the implementation of an object of this interface; undefined for anything else.
function unwrapper(name) {
  let Implementation;
  return (value) => {
    Implementation ??= implementations.get(name);
    const implementation = Slot.of(value);
    return implementation instanceof Implementation ? implementation : undefined;
  };
}

// --- Types: { convert(value, where), accepts(value), ... } ---------------------------------------

const isObject = (value) =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

function refuse(where, what) {
  throw new TypeError(`${where}: ${what}`);
}

// For messages: what was given, without running a script's code.
function named(value) {
  switch (typeof value) {
    case 'string': return JSON.stringify(value.slice(0, 80));
    case 'bigint': return `${value}n`;
    case 'object': return value === null ? 'null' : 'an object';
    case 'function': return 'a function';
    default: return String(value);
  }
}

// Unary plus is ToNumber: it throws for symbols and bigints.
const toNumber = (value) => +value;

const numeric = (convert) => ({ kind: 'numeric', accepts: () => true, convert });

function enforced(name, min, max) {
  return numeric((value, where) => {
    const number = toNumber(value);
    const integer = Math.trunc(number);
    if (!(integer >= min && integer <= max)) {
      refuse(where, `the value is not in the range of ${name} (${named(value)})`);
    }
    return integer + 0;  // -0 is 0.
  });
}

export const enforcedUnsignedLong = enforced('unsigned long', 0, 0xffffffff);
export const enforcedLong = enforced('long', -0x80000000, 0x7fffffff);
export const unsignedLong = numeric((value) => toNumber(value) >>> 0);
export const boolean = numeric((value) => Boolean(value));

export const double = numeric((value, where) => {
  const number = toNumber(value);
  if (!Number.isFinite(number)) refuse(where, `the value is not finite (${named(value)})`);
  return number;
});

export const float = numeric((value, where) => {
  const number = Math.fround(toNumber(value));
  if (!Number.isFinite(number)) refuse(where, `the value is not a finite float (${named(value)})`);
  return number;
});

// (bigint or unrestricted double). Two negations are ToNumeric: they keep bigints, and -0 too. A
// bigint beyond 64 bits saturates every integer type, as its double does.
export const number = numeric((value) => {
  const given = -(-value);
  if (typeof given !== 'bigint') return given;
  return given >= -(2n ** 63n) && given < 2n ** 64n ? given : Number(given);
});

export const DOMString = { kind: 'string', accepts: () => true, convert: (value) => `${value}` };
// Node.js 18 has no toWellFormed.
const { toWellFormed = function toWellFormed() { return toUSVString(this); } } = String.prototype;
export const USVString = {
  kind: 'string', accepts: () => true, convert: (value) => Reflect.apply(toWellFormed, `${value}`, []),
};

export function enumeration(name, values) {
  const known = new Set(values);
  return {
    kind: 'string',
    accepts: () => true,
    convert(value, where) {
      const text = `${value}`;
      if (!known.has(text)) refuse(where, `the value is not one of ${name} (${named(text)})`);
      return text;
    },
  };
}

export function sequence(element) {
  return {
    kind: 'sequence',
    accepts: (value) => isObject(value) && value[Symbol.iterator] != null,
    convert(value, where) {
      const method = isObject(value) ? value[Symbol.iterator] : undefined;
      if (typeof method !== 'function') {
        refuse(where, `the value is not a sequence (${named(value)})`);
      }
      const list = [];
      const iterator = Reflect.apply(method, value, []);
      const { next } = iterator;
      for (let step = Reflect.apply(next, iterator, []); !step.done;
        step = Reflect.apply(next, iterator, [])) {
        list.push(element.convert(step.value, where));
      }
      return list;
    },
  };
}

// Asks for the own property, as the conversion does, and makes no object of it.
const isEnumerable = Object.prototype.propertyIsEnumerable;

// A Map from keys to values.
export function record(key, element) {
  return {
    kind: 'record',
    accepts: isObject,
    convert(value, where) {
      if (!isObject(value)) refuse(where, `the value is not an object (${named(value)})`);
      const entries = new Map();
      for (const own of Reflect.ownKeys(value)) {
        if (!Reflect.apply(isEnumerable, value, [own])) continue;
        entries.set(key.convert(own, where), element.convert(value[own], where));
      }
      return entries;
    },
  };
}

// members: [name, type, { required } or { value } or nothing], in the order in which they are read.
export function dictionary(name, parent, members) {
  const rows = members.map(([member, type, { required = false, value } = {}]) =>
    ({ member, type, required, value, where: `${name}.${member}` }));
  const read = (value, where, out) => {
    parent?.read(value, where, out);
    for (const row of rows) {
      const given = value === undefined || value === null ? undefined : value[row.member];
      if (given !== undefined) out[row.member] = row.type.convert(given, row.where);
      else if (row.value !== undefined) out[row.member] = row.value;
      else if (row.required) refuse(where, `the required member is missing (${row.where})`);
    }
    return out;
  };
  return {
    kind: 'dictionary',
    accepts: (value) => value === undefined || value === null || isObject(value),
    read,
    convert(value, where) {
      if (value !== undefined && value !== null && !isObject(value)) {
        refuse(where, `the value is not an object (${named(value)})`);
      }
      return read(value, where, Object.create(null));
    },
  };
}

// Of a number with a sequence or a dictionary: what the draft has.
export function union(...alternatives) {
  const plain = alternatives.find(({ kind }) => kind === 'numeric');
  const special = alternatives.filter((alternative) => alternative !== plain);
  return {
    kind: 'union',
    accepts: () => true,
    convert(value, where) {
      const chosen = special.find((alternative) => alternative.accepts(value)) ?? plain;
      return chosen.convert(value, where);
    },
  };
}

export function interfaceType(name) {
  const unwrap = unwrapper(name);
  return {
    kind: 'interface',
    accepts: (value) => unwrap(value) !== undefined,
    convert: (value, where) => unwrap(value) ??
                               refuse(where, `the value is not an ${name} (${named(value)})`),
  };
}

// An interface of another specification that cannot be supported here; whoever has objects of it
// has made a global of its name.
export function foreign(name) {
  const accepts = (value) => {
    const type = globalThis[name];
    return typeof type === 'function' && value instanceof type;
  };
  return {
    kind: 'interface',
    accepts,
    convert(value, where) {
      if (!accepts(value)) refuse(where, `the value is not a ${name} (${named(value)})`);
      throw new DOMException(`${where}: ${name} is not supported`, 'NotSupportedError');
    },
  };
}

const getter = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
  return (object) => (get === undefined ? undefined : Reflect.apply(get, object, []));
};
const TypedArray = Object.getPrototypeOf(Uint8Array);
const resizable = getter(ArrayBuffer.prototype, 'resizable');
const growable = getter(SharedArrayBuffer.prototype, 'growable');
const typedArrayBuffer = getter(TypedArray.prototype, 'buffer');
const typedArrayOffset = getter(TypedArray.prototype, 'byteOffset');
const typedArrayLength = getter(TypedArray.prototype, 'byteLength');
const typedArrayName = getter(TypedArray.prototype, Symbol.toStringTag);
const dataViewBuffer = getter(DataView.prototype, 'buffer');

const bufferOf = (source) => {
  if (!types.isArrayBufferView(source)) return source;
  return types.isDataView(source) ? dataViewBuffer(source) : typedArrayBuffer(source);
};

// ArrayBuffer, SharedArrayBuffer or a view of one; detached or not, but of fixed length.
export const allowSharedBufferSource = {
  kind: 'buffer',
  accepts: (value) => types.isArrayBufferView(value) || types.isAnyArrayBuffer(value),
  convert(value, where) {
    if (!this.accepts(value)) refuse(where, `the value is no buffer source (${named(value)})`);
    const buffer = bufferOf(value);
    if (types.isSharedArrayBuffer(buffer) ? growable(buffer) : resizable(buffer)) {
      refuse(where, 'the buffer can change its length');
    }
    return value;
  },
};

// "Float32Array", "DataView" and so on; undefined for a buffer itself.
export function viewName(source) {
  if (!types.isArrayBufferView(source)) return undefined;
  return types.isDataView(source) ? 'DataView' : typedArrayName(source);
}

// The bytes of a buffer or typed array as they are now; none when it is detached.
export function bytesOf(source) {
  const buffer = bufferOf(source);
  if (isDetached(buffer)) return new Uint8Array();
  return types.isTypedArray(source)
    ? new Uint8Array(buffer, typedArrayOffset(source), typedArrayLength(source))
    : new Uint8Array(buffer);
}

// There is no better question in Node.js 20.
function isDetached(buffer) {
  try {
    new Uint8Array(buffer, 0, 0);
    return false;
  } catch {
    return true;
  }
}

// --- Results -------------------------------------------------------------------------------------

export const plain = { convert: (value) => value };
export const wrapped = (name) => ({ convert: (implementation) => wrap(name, implementation) });
export const each = (result) => ({ convert: (list) => list.map((item) => result.convert(item)) });
export const promise = (result) => ({
  isPromise: true,
  convert: (value) => (result === plain ? value : value.then((item) => result.convert(item))),
});
export const refused = (name) => ({
  refuse(where) {
    throw new DOMException(`${where}: ${name} is not supported`, 'NotSupportedError');
  },
});

// --- Interfaces ----------------------------------------------------------------------------------

// rows: [name, type, { optional } or { value } or nothing]
function readParameters(rows, where) {
  const parameters = rows.map(([name, type, extra]) => ({
    name, type, optional: extra !== undefined, value: extra?.value, where: `${where}(${name})`,
  }));
  const firstOptional = parameters.findIndex(({ optional }) => optional);
  return { parameters, required: firstOptional < 0 ? parameters.length : firstOptional };
}

function convertArguments({ parameters }, given) {
  return parameters.map(({ type, optional, value, where }, i) => {
    if (optional && given[i] === undefined) {
      return value === undefined ? undefined : type.convert(value, where);
    }
    return type.convert(given[i], where);
  });
}

function checkCount(given, required, where) {
  if (given.length < required) {
    throw new TypeError(`${where}: ${required} arguments are required (${given.length})`);
  }
}

// Which overload the arguments mean: by their number, then by the first parameter that tells the
// candidates apart, objects before strings and numbers.
function resolveOverload(overloads, given, where) {
  const longest = Math.max(...overloads.map(({ parameters }) => parameters.length));
  const count = Math.min(given.length, longest);
  const candidates = overloads.filter(
    ({ parameters, required }) => count >= required && count <= parameters.length);
  if (candidates.length === 0) {
    throw new TypeError(`${where}: no overload has so many arguments (${given.length})`);
  }
  if (candidates.length === 1) return candidates[0];
  const kindAt = (i) => new Set(candidates.map(({ parameters }) => parameters[i]?.type.kind));
  let at = 0;
  while (at < count && kindAt(at).size === 1) ++at;
  const strictness = ['interface', 'buffer', 'record', 'sequence', 'dictionary'];
  for (const kind of strictness) {
    const found = candidates.find(({ parameters }) => {
      const { type, optional } = parameters[at] ?? {};
      return type?.kind === kind && (type.accepts(given[at]) || (optional && at >= given.length));
    });
    if (found) return found;
  }
  return candidates.find(({ parameters }) => !strictness.includes(parameters[at]?.type.kind)) ??
         candidates[0];
}

function defineMethod(prototype, name, length, body) {
  const { [name]: value } = { [name](...given) { return body(this, given); } };
  Object.defineProperty(value, 'length', { value: length, configurable: true });
  Object.defineProperty(prototype, name,
    { value, writable: true, enumerable: true, configurable: true });
}

// What throws in a member that returns a promise rejects it instead.
function settling(isPromise, body) {
  if (!isPromise) return body;
  return (self, given) => {
    try {
      return body(self, given);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

// What gives the implementation of a member's receiver, or throws.
function receiverOf(interfaceName, where) {
  const unwrap = unwrapper(interfaceName);
  return (self) => unwrap(self) ??
                   refuse(where, `the receiver is not an ${interfaceName}`);
}

function defineAttribute(prototype, interfaceName, [name, result]) {
  const receiver = receiverOf(interfaceName, `${interfaceName}.${name}`);
  const body = settling(result.isPromise, (self) => result.convert(receiver(self)[name]));
  const descriptor = Object.getOwnPropertyDescriptor(
    { get [name]() { return body(this); } }, name);
  Object.defineProperty(prototype, name,
    { get: descriptor.get, set: undefined, enumerable: true, configurable: true });
}

function defineOperation(prototype, interfaceName, [name, rows]) {
  const where = `${interfaceName}.${name}`;
  const receiver = receiverOf(interfaceName, where);
  const overloads = rows.map(([result, parameters, { extension = false } = {}]) =>
    ({ result, extension, ...readParameters(parameters, where) }));
  const fewest = (list) => Math.min(...list.map((overload) => overload.required));
  const required = fewest(overloads);
  // An extension's overload leaves the draft's method as scripts find it.
  const ofDraft = overloads.filter(({ extension }) => !extension);
  const body = (self, given) => {
    const implementation = receiver(self);
    checkCount(given, required, where);
    const overload = overloads.length === 1 ? overloads[0]
      : resolveOverload(overloads, given, where);
    const values = convertArguments(overload, given);
    overload.result.refuse?.(where);
    return overload.result.convert(implementation[name](...values));
  };
  defineMethod(prototype, name, fewest(ofDraft.length ? ofDraft : overloads),
    settling(overloads[0].result.isPromise, body));
}

// All operators go through one method of the implementation: operator(name, operands, attributes).
// Operands stand in the order of the operator's slots, null where absent; attributes are the other
// arguments and the members of the options, by name.
function defineOperator(prototype, interfaceName, [name, result, slots, rows]) {
  const where = `${interfaceName}.${name}`;
  const receiver = receiverOf(interfaceName, where);
  const signature = readParameters(rows, where);
  const body = (self, given) => {
    const implementation = receiver(self);
    checkCount(given, signature.required, where);
    const values = convertArguments(signature, given);
    const attributes = values.at(-1);
    for (let i = 0; i + 1 < values.length; ++i) {
      attributes[signature.parameters[i].name] = values[i];
    }
    const operands = typeof slots === 'string' ? attributes[slots]
      : slots.map((slot) => attributes[slot] ?? null);
    return result.convert(implementation.operator(name, operands, attributes));
  };
  defineMethod(prototype, name, signature.required, body);
}

function makeClass(name, constructor) {
  const signature = constructor && readParameters(constructor, name);
  const { [name]: made } = {
    [name]: class {
      constructor(...given) {
        if (signature === undefined) throw new TypeError('Illegal constructor');
        checkCount(given, signature.required, name);
        const Implementation = implementations.get(name);
        new Slot(this, new Implementation(...convertArguments(signature, given)));
      }
    },
  };
  Object.defineProperty(made, 'length', { value: signature?.required ?? 0, configurable: true });
  return made;
}

// Makes the interface object: a class whose prototype has the members.
export function defineInterface(name, { constructor, attributes, operations, operators = [] }) {
  const hasOwnConstructor = Array.isArray(constructor);
  const made = makeClass(name, hasOwnConstructor ? constructor : undefined);
  for (const row of attributes) defineAttribute(made.prototype, name, row);
  for (const row of operations) defineOperation(made.prototype, name, row);
  for (const row of operators) defineOperator(made.prototype, name, row);
  Object.defineProperty(made.prototype, Symbol.toStringTag, { value: name, configurable: true });
  prototypes.set(name, made.prototype);
  return made;
}
