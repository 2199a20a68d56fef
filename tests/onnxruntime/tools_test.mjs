// The tests' own tools: the writer, the upgrade of Slice, float16, on the runtime's CPU provider.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import * as ort from 'onnxruntime-web/all';

import {assertClose} from './compare.mjs';
import {fromFloat16, toFloat16} from './float16.mjs';
import {Message} from './onnx_writer.mjs';
import {upgradeSlices} from './slice_upgrade.mjs';

ort.env.wasm.numThreads = 1;

// x[1:3, :-1], with a Slice of opset 9 whose bounds are attributes.
function sliceModel(version) {
  const attribute = (name, values) => values.reduce(
      (message, value) => message.integer(8, value), new Message().string(1, name)).integer(20, 7);
  const info = (name, shape) => new Message().string(1, name).message(2,
      new Message().message(1, new Message().integer(1, 1).message(2, shape.reduce(
          (message, size) => message.message(1, new Message().integer(1, size)), new Message()))));
  const node = new Message().string(1, 'x').string(2, 'y').string(4, 'Slice')
      .message(5, attribute('starts', [1, 0])).message(5, attribute('ends', [3, -1]))
      .message(5, attribute('axes', [0, 1]));
  const graph = new Message().message(1, node).string(2, 'g')
      .message(11, info('x', [4, 3])).message(12, info('y', [2, 2]));
  return new Message().integer(1, 4).message(7, graph)
      .message(8, new Message().string(1, '').integer(2, version)).encode();
}

test('UpgradeSlices.Opset9_ComputesTheSame', async () => {
  const x = new ort.Tensor('float32', Float32Array.from({length: 12}, (_, i) => i), [4, 3]);
  for (const model of [sliceModel(9), upgradeSlices(sliceModel(9))]) {
    const session = await ort.InferenceSession.create(model, {executionProviders: ['wasm']});
    assert.deepEqual([...(await session.run({x})).y.data], [3, 4, 6, 7]);
  }
});

test('UpgradeSlices.OtherOpset_Throws', () => {
  assert.throws(() => upgradeSlices(sliceModel(11)), /another opset \(11\)/);
});

test('Float16.EveryValue_SurvivesTheRoundTrip', () => {
  for (let bits = 0; bits < 0x10000; ++bits) {
    const value = fromFloat16(bits);
    if (!Number.isNaN(value)) assert.equal(toFloat16(value), bits);
  }
  assert.ok(Number.isNaN(fromFloat16(toFloat16(NaN))));
});

test('Float16.BetweenTwoValues_RoundsToTheNearestAndTiesToEven', () => {
  assert.equal(fromFloat16(toFloat16(2049)), 2048);
  assert.equal(fromFloat16(toFloat16(2051)), 2052);
  assert.equal(fromFloat16(toFloat16(2049.5)), 2050);
  assert.equal(toFloat16(65519), 0x7bff);
  assert.equal(toFloat16(65520), 0x7c00);
  assert.equal(fromFloat16(toFloat16(2 ** -25)), 0);
  assert.equal(fromFloat16(toFloat16(1.5 * 2 ** -24)), 2 ** -23);
});

test('AssertClose.NaNOrTooFar_Throws', () => {
  assert.throws(() => assertClose([NaN], [0], 1, 'x'));
  assert.throws(() => assertClose([1.5], [0], 1, 'x'));
  assert.throws(() => assertClose([], [0], 1, 'x'));
  assert.equal(assertClose([1.5], [1], 1, 'x'), 0.5);
});
