// Which exception comes when, and whether at once or by the promise: as the draft says.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { doubling, float32, ml, MLGraphBuilder, newBuilder, rejectsNamed, sharedContext,
  throwsNamed } from './support.mjs';

test('builder methods throw at once, with the label', async () => {
  const builder = await newBuilder();
  const x = builder.input('x', float32(2, 3));
  throwsNamed('TypeError', () => builder.matmul(x, x, { label: 'my_label' }), /my_label/);
  throwsNamed('TypeError', () => builder.input('x', float32(1)), /name/);
  throwsNamed('TypeError', () => builder.input('', float32(1)), /name/);
  throwsNamed('TypeError', () => builder.input('y', float32(0)));
  throwsNamed('TypeError', () => builder.concat([], 0));
  const other = await newBuilder();
  throwsNamed('TypeError', () => other.relu(x), /another builder/);
});

test('dynamic dimensions that are unnamed, unbounded or at odds are refused', async () => {
  const builder = await newBuilder();
  const input = (name, ...shape) => builder.input(name, { dataType: 'float32', shape });
  input('x', { name: 'length', maxSize: 8 });
  throwsNamed('TypeError', () => input('y', { name: 'length', maxSize: 9 }), /1 to 8/);
  throwsNamed('TypeError', () => input('y', { name: '', maxSize: 8 }), /no name/);
  throwsNamed('TypeError', () => input('y', { name: 'other', maxSize: 0 }), /maxSize \(0\)/);
  throwsNamed('TypeError', () => input('y', { maxSize: 8 }), /required member/);
  const context = await sharedContext();
  const shape = [{ name: 'length', maxSize: 8 }];
  const tensor = await context.createTensor({ dataType: 'float32', shape });
  throwsNamed('TypeError', () => tensor.resize([9]), /1 to 8/);
  throwsNamed('NotSupportedError',
    () => builder.constant({ dataType: 'float32', shape }, new Float32Array(8)), /constant/);
});

test('build rejects, and the builder can be used until it succeeds', async () => {
  const builder = await newBuilder();
  const x = builder.input('x', float32(2));
  await rejectsNamed('TypeError', () => builder.build({}), /no output/);
  await rejectsNamed('TypeError', () => builder.build({ x }), /output .*x/);
  await rejectsNamed('TypeError', () => builder.build({ '': builder.relu(x) }), /name/);
  const building = builder.build({ y: builder.relu(x) });
  throwsNamed('InvalidStateError', () => builder.relu(x));
  throwsNamed('InvalidStateError', () => builder.constant('float32', 1));
  throwsNamed('InvalidStateError', () => builder.constant(float32(1), new DataView(new ArrayBuffer(4))));
  await building;
  await rejectsNamed('InvalidStateError', () => builder.build({ y: x }));
});

test('dispatch throws at once', async () => {
  const context = await sharedContext();
  const { graph, input, output } = await doubling(context, float32(2));
  const wrong = await context.createTensor(float32(3));
  const elsewhere = await (await ml.createContext()).createTensor(float32(2));
  const cases = [
    [{}, { y: output }], [{ x: input }, {}], [{ z: input }, { y: output }],
    [{ x: wrong }, { y: output }], [{ x: input }, { y: input }],
    [{ x: elsewhere }, { y: output }], [{ x: input, z: wrong }, { y: output }],
  ];
  for (const [inputs, outputs] of cases) {
    throwsNamed('TypeError', () => context.dispatch(graph, inputs, outputs));
  }
  input.destroy();
  throwsNamed('TypeError', () => context.dispatch(graph, { x: input }, { y: output }), /destroyed/);
  graph.destroy();
  throwsNamed('InvalidStateError', () => context.dispatch(graph, { x: input }, { y: output }));
});

test('reading and writing check the tensor', async () => {
  const context = await sharedContext();
  const tensor = await context.createTensor(float32(2));
  await rejectsNamed('TypeError', () => context.readTensor(tensor), /not readable/);
  await rejectsNamed('TypeError', () => context.readTensor(tensor, new Float32Array(2)), /readable/);
  throwsNamed('TypeError', () => context.writeTensor(tensor, new Float32Array(2)), /not writable/);
  assert.ok(Object.isFrozen(tensor.shape));
  assert.equal(tensor.shape, tensor.shape);
  assert.deepEqual([tensor.readable, tensor.writable, tensor.constant], [false, false, false]);
  const constant = await context.createConstantTensor(float32(2), new Float32Array(2));
  assert.deepEqual([constant.readable, constant.writable, constant.constant], [false, false, true]);
});

test('destroying a tensor rejects its reads', async () => {
  const context = await sharedContext();
  const tensor = await context.createTensor({ ...float32(2), readable: true });
  const reading = context.readTensor(tensor);
  tensor.destroy();
  tensor.destroy();
  await rejectsNamed('InvalidStateError', () => reading, /destroyed/);
  await rejectsNamed('TypeError', () => context.readTensor(tensor), /destroyed/);
});

test('tensors beyond what the device holds reject with a TypeError', async () => {
  const context = await sharedContext();
  await rejectsNamed('TypeError', () => context.createTensor(float32(2 ** 31 - 1, 4)));
  await rejectsNamed('TypeError', () => context.createTensor(float32(4294967295, 4294967295)));
});

test('destroying a context loses it', async () => {
  const context = await ml.createContext();
  const { graph, input, output } = await doubling(context, float32(2));
  const builder = new MLGraphBuilder(context);
  const pending = context.readTensor(output);
  context.destroy();
  context.destroy();
  await rejectsNamed('InvalidStateError', () => pending, /lost/);
  const { message } = await context.lost;
  assert.match(message, /destroyed/);
  throwsNamed('InvalidStateError', () => new MLGraphBuilder(context));
  throwsNamed('InvalidStateError', () => builder.input('x', float32(1)));
  throwsNamed('InvalidStateError', () => context.dispatch(graph, { x: input }, { y: output }));
  await rejectsNamed('InvalidStateError', () => context.createTensor(float32(1)));
  await rejectsNamed('InvalidStateError',
    () => context.createConstantTensor(float32(1), new DataView(new ArrayBuffer(4))));
});
