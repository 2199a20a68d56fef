// Raises a model from opset 9 to 10, where Slice takes its bounds as inputs and no longer as
// attributes: ONNX Runtime's WebNN provider takes no other Slice.

import {Message, tensor} from './onnx_writer.mjs';

const MODEL = {graph: 7, opsetImport: 8};
const GRAPH = {node: 1, initializer: 5};
const NODE = {input: 1, output: 2, name: 3, type: 4, attribute: 5};
const ATTRIBUTE = {name: 1, integers: 8};
const OPSET = {domain: 1, version: 2};
const FROM = 9;
const TO = 10;
// As the inputs of Slice come after its data.
const BOUNDS = ['starts', 'ends', 'axes'];

function readVarint(bytes, at) {
  let value = 0n;
  for (let shift = 0n;; shift += 7n) {
    const byte = bytes[at++];
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return {value, at};
  }
}

// A message's fields in order: `value` is a BigInt or the bytes inside.
function* fields(bytes) {
  for (let at = 0; at < bytes.length;) {
    const key = readVarint(bytes, at);
    const [field, wireType] = [Number(key.value >> 3n), Number(key.value & 7n)];
    if (wireType === 0) {
      const {value, at: end} = readVarint(bytes, key.at);
      yield {field, value};
      at = end;
    } else if (wireType === 2) {
      const {value: length, at: begin} = readVarint(bytes, key.at);
      at = begin + Number(length);
      yield {field, value: bytes.subarray(begin, at)};
    } else {
      throw new Error(`The model has a field of another wire type (${wireType})`);
    }
  }
}

const text = (bytes) => Buffer.from(bytes).toString();
const only = (bytes, wanted) =>
    [...fields(bytes)].filter(({field}) => field === wanted).map(({value}) => value);

function copy(message, {field, value}) {
  return typeof value === 'bigint' ? message.integer(field, value) : message.bytes(field, value);
}

function upgradeOpset(bytes) {
  const [version] = only(bytes, OPSET.version);
  if (version !== BigInt(FROM)) throw new Error(`The model has another opset (${version})`);
  return new Message().string(OPSET.domain, '').integer(OPSET.version, TO);
}

// A Slice with its bounds as inputs, and the constants that these are.
function upgradeSlice(bytes, index) {
  const bounds = {};
  for (const attribute of only(bytes, NODE.attribute)) {
    bounds[text(only(attribute, ATTRIBUTE.name)[0])] = only(attribute, ATTRIBUTE.integers);
  }
  const names = BOUNDS.map((bound) => `slice_${index}_${bound}`);
  const node = new Message();
  for (const input of only(bytes, NODE.input)) node.bytes(NODE.input, input);
  for (const name of names) node.string(NODE.input, name);
  for (const output of only(bytes, NODE.output)) node.bytes(NODE.output, output);
  node.string(NODE.type, 'Slice');
  const constants = BOUNDS.map((bound, position) => tensor(names[position], {
    type: 'int64', shape: [bounds[bound].length],
    data: BigInt64Array.from(bounds[bound], (value) => BigInt.asIntN(64, value)),
  }));
  return {node, constants};
}

function upgradeGraph(bytes) {
  const graph = new Message();
  let slices = 0;
  for (const entry of fields(bytes)) {
    if (entry.field === GRAPH.node && text(only(entry.value, NODE.type)[0]) === 'Slice') {
      const {node, constants} = upgradeSlice(entry.value, slices++);
      graph.message(GRAPH.node, node);
      for (const constant of constants) graph.message(GRAPH.initializer, constant);
    } else {
      copy(graph, entry);
    }
  }
  return graph;
}

/** The model of opset 10 that computes the same. */
export function upgradeSlices(model) {
  const result = new Message();
  for (const entry of fields(model)) {
    if (entry.field === MODEL.graph) {
      result.message(MODEL.graph, upgradeGraph(entry.value));
    } else if (entry.field === MODEL.opsetImport) {
      result.message(MODEL.opsetImport, upgradeOpset(entry.value));
    } else {
      copy(result, entry);
    }
  }
  return result.encode();
}
