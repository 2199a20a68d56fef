// Bytes between scripts and tensors: buffer sources, data types, copies, detached buffers.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { doubling, float32, MLGraphBuilder, newBuilder, rejectsNamed, sharedContext, throwsNamed,
  } from './support.mjs';

const detached = (length) => {
  const view = new Float32Array(length);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
};

// Writes `source` into a tensor and reads it back.
async function roundTrip(descriptor, source) {
  const context = await sharedContext();
  const tensor = await context.createTensor({ ...descriptor, readable: true, writable: true });
  context.writeTensor(tensor, source);
  return context.readTensor(tensor);
}

test('every kind of buffer source is taken', async () => {
  const values = new Float32Array([1, 2, 3]);
  const around = new Float32Array([9, 1, 2, 3, 9]);
  const shared = new SharedArrayBuffer(12);
  new Float32Array(shared).set(values);
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
  const inMemory = new Float32Array(memory.buffer, 16, 3);
  inMemory.set(values);
  const sources = [values, values.buffer, around.subarray(1, 4), shared, new Float32Array(shared),
    new Uint8Array(around.buffer, 4, 12), inMemory, Buffer.from(values.buffer)];
  for (const source of sources) {
    assert.deepEqual(new Float32Array(await roundTrip(float32(3), source)), values);
  }
});

test('each data type takes its view', async () => {
  const views = {
    float32: new Float32Array([1, -1]), float16: new Uint16Array([0x3c00, 0xbc00]),
    int32: new Int32Array([1, -1]), uint32: new Uint32Array([1, 4294967295]),
    int64: new BigInt64Array([1n, -(2n ** 63n)]), uint64: new BigUint64Array([1n, 2n ** 64n - 1n]),
    int8: new Int8Array([1, -1]), uint8: new Uint8Array([1, 255]),
  };
  const rows = Object.entries(views);
  // Node.js has it from version 24 on.
  if (globalThis.Float16Array) rows.push(['float16', new Float16Array([1, -1])]);
  for (const [dataType, view] of rows) {
    const bytes = await roundTrip({ dataType, shape: [2] }, view);
    assert.deepEqual(new view.constructor(bytes), view, dataType);
  }
});

test('int4 and uint4 are packed, two to a byte', async () => {
  for (const dataType of ['int4', 'uint4']) {
    const bytes = await roundTrip({ dataType, shape: [3] }, new Uint8Array([0x21, 0x03]));
    assert.deepEqual(new Uint8Array(bytes), new Uint8Array([0x21, 0x03]));
  }
});

test('int64 is computed exactly', async () => {
  const context = await sharedContext();
  const { graph, input, output } = await doubling(context, { dataType: 'int64', shape: [1] });
  context.writeTensor(input, new BigInt64Array([2n ** 61n + 1n]));
  context.dispatch(graph, { x: input }, { y: output });
  assert.equal(new BigInt64Array(await context.readTensor(output))[0], 2n ** 62n + 2n);
});

test('views of another type, wrong lengths and no buffers are refused', async () => {
  const context = await sharedContext();
  const builder = await newBuilder();
  const tensor = await context.createTensor({ ...float32(2), readable: true, writable: true });
  const wrong = [new Int32Array(2), new Float64Array(1), new DataView(new ArrayBuffer(8)),
    new Uint8ClampedArray(8), new Float32Array(3), new ArrayBuffer(7), detached(2)];
  for (const source of wrong) {
    throwsNamed('TypeError', () => context.writeTensor(tensor, source), /view|bytes/);
    throwsNamed('TypeError', () => builder.constant(float32(2), source), /view|bytes/);
    await rejectsNamed('TypeError', () => context.readTensor(tensor, source), /view|bytes/);
    await rejectsNamed('TypeError', () => context.createConstantTensor(float32(2), source));
  }
  for (const source of [[1, 2], 'bytes', null, {}]) {
    throwsNamed('TypeError', () => context.writeTensor(tensor, source), /no buffer source/);
  }
});

test('buffers that can change their length are refused', async () => {
  const context = await sharedContext();
  const tensor = await context.createTensor({ ...float32(2), writable: true });
  const growing = new SharedArrayBuffer(8, { maxByteLength: 16 });
  if (!growing.growable) return;  // Node.js 18 has none.
  for (const source of [growing, new Float32Array(growing),
    new ArrayBuffer(8, { maxByteLength: 16 })]) {
    throwsNamed('TypeError', () => context.writeTensor(tensor, source), /change its length/);
  }
});

test('bytes are copied at the call', async () => {
  const context = await sharedContext();
  for (const length of [2, 100000]) {
    const { graph, input, output } = await doubling(context, float32(length));
    const values = new Float32Array(length).fill(1);
    context.writeTensor(input, values);
    values.fill(7);
    context.dispatch(graph, { x: input }, { y: output });
    const constant = new Float32Array(length).fill(3);
    const builder = new MLGraphBuilder(context);
    const x = builder.input('x', float32(length));
    const sum = builder.add(x, builder.constant(float32(length), constant));
    const building = builder.build({ y: sum });
    constant.fill(9);
    const result = new Float32Array(await context.readTensor(output));
    assert.deepEqual(result, new Float32Array(length).fill(2));
    context.dispatch(await building, { x: input }, { y: output });
    const other = new Float32Array(await context.readTensor(output));
    assert.deepEqual(other, new Float32Array(length).fill(4));
  }
});

test('options are copied at the call', async () => {
  const builder = await newBuilder();
  const x = builder.input('x', float32(1, 1, 4, 4));
  const options = { windowDimensions: [2, 2], strides: [2, 2] };
  const pooled = builder.maxPool2d(x, options);
  options.windowDimensions[0] = 4;
  options.strides.length = 0;
  const graph = await builder.build({ y: pooled });
  const context = await sharedContext();
  const input = await context.createTensor({ ...float32(1, 1, 4, 4), writable: true });
  const output = await context.createTensor({ ...float32(1, 1, 2, 2), readable: true });
  context.writeTensor(input, Float32Array.from({ length: 16 }, (_, i) => i));
  context.dispatch(graph, { x: input }, { y: output });
  assert.deepEqual(new Float32Array(await context.readTensor(output)),
    new Float32Array([5, 7, 13, 15]));
});

test('a buffer that is detached during the read rejects', async () => {
  const context = await sharedContext();
  const tensor = await context.createTensor({ ...float32(2), readable: true });
  const own = new Float32Array(2);
  const reading = context.readTensor(tensor, own);
  structuredClone(own.buffer, { transfer: [own.buffer] });
  await rejectsNamed('TypeError', () => reading, /detached/);
});

test('reads into shared memory, and into a part of a buffer', async () => {
  const context = await sharedContext();
  const tensor = await context.createTensor({ ...float32(2), readable: true, writable: true });
  context.writeTensor(tensor, new Float32Array([5, 6]));
  const shared = new SharedArrayBuffer(8);
  await context.readTensor(tensor, shared);
  assert.deepEqual([...new Float32Array(shared)], [5, 6]);
  const whole = new Float32Array(4);
  await context.readTensor(tensor, whole.subarray(1, 3));
  assert.deepEqual([...whole], [0, 5, 6, 0]);
});

test('large tensors go through whole', async () => {
  const length = 6 << 20;  // 24 MiB, more than an arena has.
  const values = Uint32Array.from({ length }, (_, i) => i * 2654435761);
  const bytes = await roundTrip({ dataType: 'uint32', shape: [length] }, values);
  assert.ok(Buffer.from(bytes).equals(Buffer.from(values.buffer)));
});
