// What webnn-node adds to the client: times of calls from JavaScript. tools/bench node [--json FILE]
//
// A dispatch's own call (it returns before the work is done) and a dispatch with a read of its
// result, on graphs so small that the kernels cost nothing, beside what the calls cannot go below in
// the same run: the smallest call into the addon, and a turn of the event loop.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { connection, native } from '../../../client/node/addon.mjs';
import { ml, MLGraphBuilder } from '../../../client/node/index.mjs';

const ROUNDS = 30;
const scalar = { dataType: 'float32', shape: [1] };

// A graph with `count` tensors, one of them its output: y = x0 + x1 + ...
async function sumOf(context, count) {
  const builder = new MLGraphBuilder(context);
  const names = Array.from({ length: count - 1 }, (_, i) => `x${i}`);
  const operands = names.map((name) => builder.input(name, scalar));
  const sum = operands.reduce((a, b) => builder.add(a, b));
  const graph = await builder.build({ y: sum });
  const inputs = {};
  for (const name of names) inputs[name] = await context.createTensor({ ...scalar, writable: true });
  const output = await context.createTensor({ ...scalar, readable: true });
  for (const tensor of Object.values(inputs)) context.writeTensor(tensor, new Float32Array([1]));
  const run = () => context.dispatch(graph, inputs, { y: output });
  run();
  const [result] = new Float32Array(await context.readTensor(output));
  if (result !== count - 1) throw new Error(`the sum is wrong (${result})`);
  return { run, read: () => context.readTensor(output) };
}

const microseconds = () => Number(process.hrtime.bigint()) / 1000;

// Microseconds per call, one figure a round. `settle` runs between rounds, outside the measurement.
async function perCall(calls, call, settle = async () => {}) {
  const rounds = [];
  for (let round = 0; round <= ROUNDS; ++round) {
    const start = microseconds();
    for (let i = 0; i < calls; ++i) {
      const pending = call();
      if (pending !== undefined) await pending;
    }
    const end = microseconds();
    if (round > 0) rounds.push((end - start) / calls);  // The first one warms up.
    await settle();
  }
  return rounds;
}

function summary(rounds) {
  const sorted = [...rounds].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return { median_us: at(0.5), p5_us: at(0.05), p95_us: at(0.95) };
}

async function main() {
  const { values } = parseArgs({ options: { json: { type: 'string' } } });
  const context = await ml.createContext();
  const results = {};
  const measure = async (name, ...call) => {
    results[name] = summary(await perCall(...call));
    const { median_us: median, p5_us: low, p95_us: high } = results[name];
    const [m, l, h] = [median, low, high].map((us) => us.toFixed(2).padStart(8));
    console.log(`${name.padEnd(34)} ${m} us  (5..95%: ${l} ..${h})`);
  };
  const handle = await native.createContext(connection(), {});
  await measure('smallest call into the addon', 1000, () => { native.isAccelerated(handle); });
  await measure('turn of the event loop', 200, () => new Promise(setImmediate));
  for (const count of [3, 100]) {
    const { run, read } = await sumOf(context, count);
    await measure(`dispatch, ${count} tensors`, 100, run, read);
    await measure(`dispatch and read, ${count} tensors`, 100, () => { run(); return read(); });
  }
  const tensor = await context.createTensor({ ...scalar, writable: true, readable: true });
  const bytes = new Float32Array([1]);
  await measure('writeTensor, 4 bytes', 100, () => context.writeTensor(tensor, bytes),
    () => context.readTensor(tensor));
  await measure('readTensor, 4 bytes', 100, () => context.readTensor(tensor));
  const builder = new MLGraphBuilder(context);
  const x = builder.input('x', scalar);
  await measure('builder.add', 200, () => { builder.add(x, x); });
  if (values.json) writeFileSync(values.json, JSON.stringify(results, null, 2));
}

await main();
