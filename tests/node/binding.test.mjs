// Bindings, which the draft does not have: one tensor may be input and output.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { doubling, float32, MLBinding, MLContext, sharedContext, throwsNamed } from './support.mjs';

test('a binding runs its graph again and again', async () => {
  const context = await sharedContext();
  const { graph } = await doubling(context, float32(2));
  const state = await context.createTensor({ ...float32(2), readable: true, writable: true });
  context.writeTensor(state, Float32Array.of(1, -3));
  const binding = context.bind(graph, { x: state }, { y: state });
  assert.ok(binding instanceof MLBinding);
  for (let i = 0; i < 3; ++i) context.dispatch(binding);
  assert.deepEqual(new Float32Array(await context.readTensor(state)), Float32Array.of(8, -24));
  binding.destroy();
  throwsNamed('InvalidStateError', () => context.dispatch(binding), /binding/);
});

test('wrong use throws', async () => {
  const context = await sharedContext();
  const { graph, input, output } = await doubling(context, float32(2));
  const wrong = await context.createTensor(float32(3));
  throwsNamed('TypeError', () => context.bind(graph, { x: wrong }, { y: output }));
  throwsNamed('TypeError', () => context.bind(graph, { x: input }, {}));
  throwsNamed('TypeError', () => context.bind(graph));
  throwsNamed('TypeError', () => context.dispatch(graph));
  throwsNamed('TypeError', () => context.dispatch({}));
  throwsNamed('TypeError', () => new MLBinding());
  const first = context.bind(graph, { x: input }, { y: output });
  const second = context.bind(graph, { x: input }, { y: input });
  output.destroy();
  throwsNamed('TypeError', () => context.dispatch(first), /tensor/);
  context.dispatch(second);
  graph.destroy();
  throwsNamed('InvalidStateError', () => context.dispatch(second), /graph/);
});

test("the draft's dispatch is as scripts know it", () => {
  assert.equal(MLContext.prototype.dispatch.length, 3);
});
