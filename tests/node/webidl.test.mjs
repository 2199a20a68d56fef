// What Web IDL asks of the interfaces: shapes of objects, brands, conversions, overloads.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import * as webnn from '../../client/node/index.mjs';
import { float32, newBuilder, rejectsNamed, sharedContext, throwsNamed } from './support.mjs';

const { ml, ML, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor } = webnn;
let context, builder, x;
before(async () => {
  context = await sharedContext();
  builder = await newBuilder();
  x = builder.input('x', float32(4, 4));
});

test('the package exports the seven interfaces and ml', () => {
  assert.deepEqual(Object.keys(webnn).sort(),
    ['ML', 'MLBinding', 'MLContext', 'MLGraph', 'MLGraphBuilder', 'MLOperand', 'MLTensor', 'ml']);
});

test('interfaces have names, lengths and tags', () => {
  const lengths = {
    ML: 0, MLBinding: 0, MLContext: 0, MLGraph: 0, MLGraphBuilder: 1, MLOperand: 0, MLTensor: 0,
  };
  for (const [name, length] of Object.entries(lengths)) {
    const made = webnn[name];
    assert.equal(made.name, name);
    assert.equal(made.length, length);
    assert.throws(() => made(), TypeError);
    assert.deepEqual(Object.getOwnPropertyDescriptor(made, 'prototype'),
      { value: made.prototype, writable: false, enumerable: false, configurable: false });
    assert.deepEqual(Object.getOwnPropertyDescriptor(made.prototype, Symbol.toStringTag),
      { value: name, writable: false, enumerable: false, configurable: true });
  }
  assert.equal(String(x), '[object MLOperand]');
});

test('only a builder can be constructed', () => {
  for (const made of [ML, MLContext, MLGraph, MLOperand, MLTensor]) {
    throwsNamed('TypeError', () => new made(), /Illegal constructor/);
  }
  throwsNamed('TypeError', () => new MLGraphBuilder(), /1 arguments are required/);
  throwsNamed('TypeError', () => new MLGraphBuilder({}), /not an MLContext/);
  class Derived extends MLGraphBuilder { }
  assert.ok(new Derived(context).input('y', float32(1)) instanceof MLOperand);
});

test('members are enumerable and not constructors', () => {
  const { value: relu, ...flags } = Object.getOwnPropertyDescriptor(
    MLGraphBuilder.prototype, 'relu');
  assert.deepEqual(flags, { writable: true, enumerable: true, configurable: true });
  assert.throws(() => new relu(x), TypeError);
  const lengths = { relu: 1, conv2d: 2, lstm: 5, constant: 1, split: 2, build: 1 };
  for (const [name, length] of Object.entries(lengths)) {
    assert.equal(MLGraphBuilder.prototype[name].length, length, name);
    assert.equal(MLGraphBuilder.prototype[name].name, name);
  }
  const { get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(
    MLOperand.prototype, 'shape');
  assert.deepEqual([get.name, set, enumerable, configurable],
    ['get shape', undefined, true, true]);
});

test('attributes are read-only, frozen and the same each time', () => {
  'use strict';
  assert.equal(x.shape, x.shape);
  assert.ok(Object.isFrozen(x.shape));
  assert.deepEqual([...x.shape], [4, 4]);
  assert.throws(() => { x.dataType = 'int8'; }, TypeError);
  assert.equal(context.lost, context.lost);
  assert.ok(context.lost instanceof Promise);
});

test('receivers are checked; what returns a promise rejects', async () => {
  throwsNamed('TypeError', () => MLOperand.prototype.shape, /receiver is not an MLOperand/);
  throwsNamed('TypeError', () => MLGraphBuilder.prototype.relu.call(context, x), /receiver/);
  throwsNamed('TypeError', () => MLContext.prototype.dispatch.call({}), /receiver/);
  await rejectsNamed('TypeError', () => MLContext.prototype.lost, /receiver/);
  await rejectsNamed('TypeError', () => MLContext.prototype.createTensor.call(ml), /receiver/);
  await rejectsNamed('TypeError', () => context.createTensor(), /1 arguments are required/);
  await rejectsNamed('TypeError', () => builder.build(), /1 arguments/);
  await rejectsNamed('TypeError', () => ml.createContext(3), /not an object/);
  await rejectsNamed('TypeError',
    () => ml.createContext({ powerPreference: 'lots' }), /not one of MLPowerPreference/);
});

test('operands in options may be absent, and are operands where not', () => {
  const input = builder.input('image', float32(1, 1, 4, 4));
  const filter = builder.input('filter', float32(2, 1, 3, 3));
  const bias = builder.input('bias', float32(2));
  for (const options of [{}, { bias }, { bias: undefined }]) {
    assert.deepEqual([...builder.conv2d(input, filter, options).shape], [1, 2, 2, 2]);
  }
  throwsNamed('TypeError', () => builder.conv2d(input, filter, { bias: filter }), /bias/);
  throwsNamed('TypeError', () => builder.conv2d(input, filter, { bias: null }), /not an MLOperand/);
});

test('a forged prototype is no interface object', () => {
  const forged = Object.create(MLOperand.prototype);
  throwsNamed('TypeError', () => forged.shape, /receiver/);
  throwsNamed('TypeError', () => builder.relu(forged), /not an MLOperand/);
  throwsNamed('TypeError', () => builder.relu(context), /not an MLOperand/);
});

test('[EnforceRange] refuses what is no integer of the range', () => {
  for (const axis of [-1, 4294967296, NaN, Infinity, 'two', undefined, {}]) {
    throwsNamed('TypeError', () => builder.softmax(x, axis), /range of unsigned long/);
  }
  for (const axis of [1n, Symbol('one')]) throwsNamed('TypeError', () => builder.softmax(x, axis));
  for (const axis of [1, 1.9, '1', true, [1], -0.5]) {
    assert.ok(builder.softmax(x, axis) instanceof MLOperand);
  }
  throwsNamed('TypeError', () => builder.triangular(x, { diagonal: 2147483648 }), /range of long/);
  assert.ok(builder.triangular(x, { diagonal: -1 }));
});

test('without [EnforceRange] numbers wrap', () => {
  assert.ok(builder.cumulativeSum(x, 4294967297));
  throwsNamed('TypeError', () => builder.cumulativeSum(x, -1), /axis/);  // 4294967295
});

test('doubles are finite; numbers may be anything, bigints too', () => {
  throwsNamed('TypeError', () => builder.elu(x, { alpha: NaN }), /finite/);
  throwsNamed('TypeError', () => builder.elu(x, { alpha: 1n }));
  throwsNamed('TypeError', () => builder.resample2d(x, { scales: [1e300, 1] }), /finite/);
  const i = builder.input('i', { dataType: 'int64', shape: [4] });
  for (const value of [5n, -5n, 2n ** 70n, -(2n ** 70n), Infinity, '5', { valueOf: () => 7n }]) {
    assert.ok(builder.clamp(i, { maxValue: value }));
    assert.ok(builder.constant('uint64', value));
  }
  throwsNamed('TypeError', () => builder.constant('int64', Symbol('number')));
});

test('enums are strings of the list', () => {
  assert.ok(builder.cast(x, { toString: () => 'int8' }));
  throwsNamed('TypeError', () => builder.cast(x, 'int16'), /not one of MLOperandDataType \("int16"\)/);
  throwsNamed('TypeError', () => builder.cast(x), /2 arguments are required/);
});

test('dictionaries: required members, order of reading, unknown members', () => {
  throwsNamed('TypeError', () => builder.input('a', {}), /required member .*dataType/);
  throwsNamed('TypeError', () => builder.input('a', { dataType: 'int8' }), /required member .*shape/);
  throwsNamed('TypeError', () => builder.input('a', 'float32'), /not an object/);
  const read = [];
  const options = new Proxy({}, { get: (_, name) => { read.push(name); return undefined; } });
  builder.gemm(x, x, options);
  assert.deepEqual(read, ['label', 'aTranspose', 'alpha', 'bTranspose', 'beta', 'c']);
  assert.ok(builder.input('b', { ...float32(2), dimensions: [2] }));
  assert.ok(builder.relu(x, null));
  throwsNamed('TypeError', () => builder.relu(x, 1), /not an object/);
});

test('sequences are any iterable, and nothing else', () => {
  const reshaped = builder.reshape(x, new Set([2, 8]));
  assert.deepEqual([...reshaped.shape], [2, 8]);
  assert.deepEqual([...builder.reshape(x, new Uint32Array([16])).shape], [16]);
  assert.deepEqual([...builder.reshape(x, (function* () { yield 16; })()).shape], [16]);
  for (const shape of ['16', 16, { length: 1, 0: 16 }, null, undefined]) {
    throwsNamed('TypeError', () => builder.reshape(x, shape), /not a sequence/);
  }
});

test('unions: split takes a number or a sequence', () => {
  const shapes = (outputs) => outputs.map(({ shape }) => [...shape]);
  assert.deepEqual(shapes(builder.split(x, 2)), [[2, 4], [2, 4]]);
  assert.deepEqual(shapes(builder.split(x, '2')), [[2, 4], [2, 4]]);
  assert.deepEqual(shapes(builder.split(x, [1, 3], { axis: 1 })), [[4, 1], [4, 3]]);
  throwsNamed('TypeError', () => builder.split(x, {}), /range of unsigned long/);
});

test('overloads: constant by what comes first', async () => {
  const bytes = new Float32Array(2);
  assert.deepEqual([...builder.constant(float32(2), bytes).shape], [2]);
  assert.deepEqual([...builder.constant('float32', 2).shape], []);
  const tensor = await context.createConstantTensor(float32(2), bytes);
  assert.deepEqual([...builder.constant(tensor).shape], [2]);
  throwsNamed('TypeError', () => builder.constant(float32(2)), /not an MLTensor/);
  throwsNamed('TypeError', () => builder.constant('float64', 2), /MLOperandDataType/);
  throwsNamed('TypeError', () => builder.constant(null, bytes), /required member/);
  throwsNamed('TypeError', () => builder.constant(float32(2), [1, 2]), /no buffer source/);
  throwsNamed('TypeError', () => builder.constant(), /1 arguments are required/);
});

test('records: own enumerable keys, no symbols', async () => {
  await rejectsNamed('TypeError', () => builder.build({ [Symbol('y')]: builder.relu(x) }));
  await rejectsNamed('TypeError', () => builder.build(null), /not an object/);
  await rejectsNamed('TypeError', () => builder.build({ y: {} }), /not an MLOperand/);
  const outputs = Object.create({ inherited: 1 },
    { hidden: { value: 1, enumerable: false }, y: { value: builder.relu(x), enumerable: true } });
  assert.ok(await builder.build(outputs) instanceof MLGraph);
});

test('lone surrogates in a USVString are replaced', async () => {
  const lone = await newBuilder();
  lone.input('\ud800', float32(1));
  throwsNamed('TypeError', () => lone.input('\ufffd', float32(1)), /name/);
});

test('what needs WebGPU is not supported', async () => {
  await rejectsNamed('TypeError', () => context.createExportableTensor(float32(1), {}), /GPUDevice/);
  globalThis.GPUDevice = class GPUDevice { };
  await rejectsNamed('NotSupportedError', () => ml.createContext(new GPUDevice()), /GPUDevice/);
  await rejectsNamed('NotSupportedError',
    () => context.createExportableTensor(float32(1), new GPUDevice()), /GPUDevice/);
  delete globalThis.GPUDevice;
  const tensor = await context.createTensor(float32(1));
  throwsNamed('NotSupportedError', () => context.exportToGPU(tensor), /GPUBuffer/);
});

test('opSupportLimits is a fresh object, with the packed types', () => {
  const limits = context.opSupportLimits();
  assert.notEqual(limits, context.opSupportLimits());
  assert.equal(limits.preferredInputLayout, 'nchw');
  assert.ok(limits.maxTensorByteLength >= 2 ** 27);
  for (const type of ['float32', 'float16', 'int64', 'uint8', 'int4', 'uint4']) {
    assert.ok(limits.constant.dataTypes.includes(type), type);
  }
  assert.deepEqual(Object.keys(limits.gemm), ['a', 'b', 'c', 'output']);
  assert.deepEqual(limits.gemm.a.rankRange, { min: 2, max: 2 });
});
