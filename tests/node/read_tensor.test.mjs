// Which buffers readTensor() fills.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ml } from '../../client/node/index.mjs';

const context = await ml.createContext();
const descriptor = { dataType: 'int32', shape: [2], readable: true, writable: true };
const values = Int32Array.of(1, -2);

async function filledTensor() {
  const tensor = await context.createTensor(descriptor);
  context.writeTensor(tensor, values);
  return tensor;
}

test('ReadTensor.ViewOfBytes_IsFilledFromItsOffset', async () => {
  const tensor = await filledTensor();
  for (const View of [Uint8Array, Int8Array]) {
    const memory = new ArrayBuffer(16);
    await context.readTensor(tensor, new View(memory, 4, 8));
    assert.deepEqual([...new Int32Array(memory)], [0, 1, -2, 0]);
  }
});

test('ReadTensor.ViewOfAnotherType_Rejects', async () => {
  const tensor = await filledTensor();
  await assert.rejects(context.readTensor(tensor, new Uint32Array(2)), TypeError);
});

test('WriteTensor.Int8ArrayForInt32_Throws', async () => {
  const tensor = await filledTensor();
  assert.throws(() => context.writeTensor(tensor, new Int8Array(8)), TypeError);
});
