// The draft's example, from a context to the bytes of a result.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { ml, MLGraphBuilder } from '../../client/node/index.mjs';

const matrix = { dataType: 'float32', shape: [2, 2] };

async function buildExample(context) {
  const builder = new MLGraphBuilder(context);
  const constant = builder.constant(matrix, new Float32Array(4).fill(0.2));
  const a = builder.input('A', matrix);
  const b = builder.input('B', matrix);
  return builder.build({ C: builder.add(builder.mul(a, constant), b) });
}

test('C = 0.2 * A + B', async () => {
  const context = await ml.createContext();
  const graph = await buildExample(context);
  const [a, b, c] = await Promise.all([
    context.createTensor({ ...matrix, writable: true }),
    context.createTensor({ ...matrix, writable: true }),
    context.createTensor({ ...matrix, readable: true }),
  ]);
  context.writeTensor(a, new Float32Array(4).fill(1.0));
  context.writeTensor(b, new Float32Array([0.8, 1.8, 2.8, 3.8]));
  context.dispatch(graph, { A: a, B: b }, { C: c });
  const expected = new Float32Array([1, 2, 3, 4]);
  assert.deepEqual(new Float32Array(await context.readTensor(c)), expected);
  const own = new Float32Array(4);
  assert.equal(await context.readTensor(c, own), undefined);
  assert.deepEqual(own, expected);
});

test('the README\'s example runs', async () => {
  const folder = new URL('../../client/node/', import.meta.url);
  const [, source] = /```js\n(.*?)```/s.exec(readFileSync(new URL('README.md', folder), 'utf8'));
  assert.equal(source.trim().split('\n').length, 11);
  const lines = [];
  globalThis.exampleConsole = { log: (line) => lines.push(line) };
  const script = `const console = exampleConsole;\n${source}`
    .replace("'webnn-node'", JSON.stringify(new URL('index.mjs', folder).href));
  await import(`data:text/javascript,${encodeURIComponent(script)}`);
  const [result] = lines;
  assert.ok(Math.abs(result[0] + result[1] - 1) < 1e-6 && result[1] > result[0], `${result}`);
});

test('every operator of opSupportLimits is a method of the builder', async () => {
  const context = await ml.createContext();
  const limits = Object.keys(context.opSupportLimits());
  const operators = limits.slice(limits.indexOf('abs'));
  assert.equal(operators.length, 95);
  for (const name of operators) assert.equal(typeof MLGraphBuilder.prototype[name], 'function');
});
