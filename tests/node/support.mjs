// What several tests use.

import assert from 'node:assert/strict';

import { ml, MLGraphBuilder } from '../../client/node/index.mjs';

export { ml, MLGraphBuilder };
export * from '../../client/node/index.mjs';

export const float32 = (...shape) => ({ dataType: 'float32', shape });

let shared;
// One context for the tests of a file that leave it as it was.
export function sharedContext() {
  return shared ??= ml.createContext();
}

export async function newBuilder() {
  return new MLGraphBuilder(await sharedContext());
}

// `call` throws an exception of this name ("TypeError", or a DOMException's).
export function throwsNamed(name, call, message = /./) {
  assert.throws(call, (error) => hasName(error, name, message));
}

// The promise rejects, and the call that made it does not throw.
export async function rejectsNamed(name, call, message = /./) {
  const promise = call();
  assert.ok(promise instanceof Promise);
  await assert.rejects(promise, (error) => hasName(error, name, message));
}

function hasName(error, name, message) {
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.match(error.message, message);
  assert.ok(error instanceof (name === 'TypeError' ? TypeError : DOMException));
  return true;
}

// A graph y = x * 2 of the descriptor, with its tensors.
export async function doubling(context, descriptor) {
  const builder = new MLGraphBuilder(context);
  const x = builder.input('x', descriptor);
  const graph = await builder.build({ y: builder.add(x, x) });
  const input = await context.createTensor({ ...descriptor, writable: true });
  const output = await context.createTensor({ ...descriptor, readable: true });
  return { graph, input, output };
}
