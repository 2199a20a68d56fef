// Writes ONNX models: the few messages of onnx.proto that a static graph needs, in the wire format
// of Protocol Buffers.

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

// TensorProto.DataType, and AttributeProto.AttributeType.
const DATA_TYPES = {float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10};
const ATTRIBUTE_TYPES = {FLOAT: 1, INT: 2, STRING: 3, INTS: 7};

/** A real attribute: `{alpha: real(1)}`; plain numbers are integers. */
export class Real {
  constructor(value) {
    this.value = value;
  }
}
export const real = (value) => new Real(value);

/** A message being written, field by field. */
export class Message {
  #chunks = [];

  #key(field, wireType) {
    this.#varint(field * 8 + wireType);
  }

  #varint(value) {
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes = [];
    while (rest >= 0x80n) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    this.#chunks.push(Uint8Array.from(bytes));
  }

  integer(field, value) {
    this.#key(field, VARINT);
    this.#varint(value);
    return this;
  }

  float(field, value) {
    this.#key(field, FIXED32);
    this.#chunks.push(new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  bytes(field, value) {
    this.#key(field, LENGTH_DELIMITED);
    this.#varint(value.byteLength);
    this.#chunks.push(value);
    return this;
  }

  string(field, value) {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field, value) {
    return this.bytes(field, value.encode());
  }

  encode() {
    return new Uint8Array(Buffer.concat(this.#chunks));
  }
}

/** A TensorProto. */
export function tensor(name, {type, shape, data}) {
  const message = new Message();
  for (const size of shape) message.integer(1, size);
  return message.integer(2, DATA_TYPES[type]).string(8, name)
      .bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function valueInfo(name, {type, shape}) {
  const dimensions = new Message();
  for (const size of shape) dimensions.message(1, new Message().integer(1, size));
  const tensorType = new Message().integer(1, DATA_TYPES[type]).message(2, dimensions);
  return new Message().string(1, name).message(2, new Message().message(1, tensorType));
}

function attribute(name, value) {
  const message = new Message().string(1, name);
  const typed = (type) => message.integer(20, ATTRIBUTE_TYPES[type]);
  if (value instanceof Real) {
    message.float(2, value.value);
    return typed('FLOAT');
  }
  if (typeof value === 'string') {
    message.string(4, value);
    return typed('STRING');
  }
  if (!Array.isArray(value)) {
    message.integer(3, value);
    return typed('INT');
  }
  for (const item of value) message.integer(8, item);
  return typed('INTS');
}

function node({type, domain, name, inputs, outputs, attributes}) {
  const message = new Message();
  for (const input of inputs) message.string(1, input);
  for (const output of outputs) message.string(2, output);
  message.string(3, name).string(4, type);
  for (const [key, value] of Object.entries(attributes)) message.message(5, attribute(key, value));
  return message.string(7, domain);
}

/** A model in the making. Tensors are `{type, shape}`, constants have `data` too. */
export class Model {
  #nodes = [];
  #constants = [];
  #inputs = [];
  #outputs = [];

  input(name, descriptor) {
    this.#inputs.push(valueInfo(name, descriptor));
    return name;
  }

  output(name, descriptor) {
    this.#outputs.push(valueInfo(name, descriptor));
    return name;
  }

  constant(name, descriptor) {
    this.#constants.push(tensor(name, descriptor));
    return name;
  }

  /**
   * Adds a node. An input '' is an optional one left out.
   * @return {string} The name of the first output.
   */
  node(type, inputs, {outputs, attributes = {}, domain = ''} = {}) {
    const name = `${type}_${this.#nodes.length}`;
    const names = outputs ?? [`${name}_output`];
    this.#nodes.push(node({type, domain, name, inputs, outputs: names, attributes}));
    return names[0];
  }

  encode() {
    const graph = new Message();
    for (const each of this.#nodes) graph.message(1, each);
    graph.string(2, 'graph');
    for (const each of this.#constants) graph.message(5, each);
    for (const each of this.#inputs) graph.message(11, each);
    for (const each of this.#outputs) graph.message(12, each);
    const opset = (domain, version) => new Message().string(1, domain).integer(2, version);
    return new Message().integer(1, 8).message(7, graph)
        .message(8, opset('', 17)).message(8, opset('com.microsoft', 1)).encode();
  }
}
