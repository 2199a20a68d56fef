// Gives onnxruntime-web, unmodified, the globals it looks for, and watches what it asks of WebNN.

import fs from 'node:fs';
import {pathToFileURL} from 'node:url';

const COUNTED = {
  MLGraphBuilder: ['build'],
  MLContext: ['createTensor', 'dispatch', 'readTensor', 'writeTensor'],
};
const LOG_INFO = 1;
const PARTITIONS = new RegExp('number of partitions supported by WebNN: (\\d+) ' +
                              'number of nodes in the graph: (\\d+) ' +
                              'number of nodes supported by WebNN: (\\d+)');

function count(prototype, method, counts) {
  const original = prototype[method];
  counts[method] = 0;
  prototype[method] = function(...args) {
    counts[method] += 1;
    return original.apply(this, args);
  };
}

function defineGlobals({ml, ...interfaces}) {
  const globals = {navigator: {ml}, GPUDevice: class GPUDevice {}, ...interfaces};
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, {value, configurable: true, writable: true});
  }
}

/**
 * Loads webnn-node, which the environment variable WEBNN_NODE names, and then the runtime, which
 * must find the globals when it loads.
 * @return {Promise<{ort: Object, counts: Object<string, number>}>} `counts` of calls so far, by
 *     method.
 */
export async function loadOnnxRuntime() {
  const {default: _, ...webnn} = await import(pathToFileURL(process.env.WEBNN_NODE));
  const counts = {};
  for (const [name, methods] of Object.entries(COUNTED)) {
    for (const method of methods) count(webnn[name].prototype, method, counts);
  }
  defineGlobals(webnn);
  const ort = await import('onnxruntime-web/all');
  ort.env.wasm.numThreads = 1;
  return {ort, counts};
}

/** How many calls `run` makes, by method; those it makes none of are left out. */
export async function countCalls(counts, run) {
  const before = {...counts};
  const result = await run();
  const calls = {};
  for (const [method, value] of Object.entries(counts)) {
    if (value !== before[method]) calls[method] = value - before[method];
  }
  return {result, calls};
}

// What the runtime's wasm code logs: it writes to the descriptors itself, and fails on a full pipe.
let log = '';
const writeSync = fs.writeSync;
fs.writeSync = (descriptor, data, ...rest) => {
  if (descriptor !== 1 && descriptor !== 2) return writeSync(descriptor, data, ...rest);
  log += typeof data === 'string' ? data : Buffer.from(data).toString();
  return data.length;
};

/**
 * A session on WebNN, and how the provider says that it divided the model.
 * @return {Promise<{session, partitions: number, nodes: number, supported: number}>}
 */
export async function createOnWebNN(ort, model, options = {}) {
  log = '';
  const session = await ort.InferenceSession.create(model, {
    executionProviders: [{name: 'webnn', deviceType: 'gpu'}],
    logSeverityLevel: LOG_INFO,
    ...options,
  });
  const found = PARTITIONS.exec(log);
  if (found === null) throw new Error(`The provider logs no partitions:\n${log}`);
  const [partitions, nodes, supported] = found.slice(1).map(Number);
  return {session, partitions, nodes, supported};
}

/** The same model on the runtime's own CPU provider. */
export function createOnCpu(ort, model) {
  return ort.InferenceSession.create(model, {executionProviders: ['wasm']});
}
