// Dynamic dimensions (webidl/extensions.idl): shapes as scripts see them, and graphs that run at any.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MLGraphBuilder, sharedContext } from './support.mjs';

const past = { name: 'past', maxSize: 12, minSize: 0 };
const seq = { name: 'seq', maxSize: 4, minSize: 1 };

test('one graph grows a cache by any number of rows', async () => {
  const context = await sharedContext();
  const builder = new MLGraphBuilder(context);
  const descriptor = (...shape) => ({ dataType: 'float32', shape, readable: true, writable: true });
  const old = builder.input('past', descriptor(past, 2));
  const added = builder.input('new', descriptor(seq, 2));
  const present = builder.concat([old, added], 0);
  assert.deepEqual(present.shape, [{ name: 'past + seq', maxSize: 16, minSize: 1 }, 2]);
  assert.ok(Object.isFrozen(present.shape) && present.shape === present.shape);
  // A derived dimension can be given back.
  const turned = builder.reshape(present, [2, present.shape[0]]);
  assert.deepEqual(turned.shape, [2, present.shape[0]]);
  const graph = await builder.build({ present, turned });

  const cache = { name: 'rows', maxSize: 10, minSize: 0 };
  let [from, to] = [await context.createTensor(descriptor(cache, 2)),
                    await context.createTensor(descriptor(cache, 2))];
  const rows = await context.createTensor(descriptor(seq, 2));
  const all = await context.createTensor(descriptor(2, cache));
  from.resize([0, 2]);
  assert.deepEqual(from.shape, [0, 2]);
  assert.equal((await context.readTensor(from)).byteLength, 0);
  const expected = [];
  for (const count of [3, 1, 2]) {
    rows.resize([count, 2]);
    const values = Array.from({ length: 2 * count }, (_, i) => 100 * count + i);
    expected.push(...values);
    context.writeTensor(rows, new Float32Array(values));
    context.dispatch(graph, { past: from, new: rows }, { present: to, turned: all });
    assert.deepEqual(to.shape, [expected.length / 2, 2]);
    assert.deepEqual([...new Float32Array(await context.readTensor(to))], expected);
    assert.deepEqual([...new Float32Array(await context.readTensor(all))], expected);
    [from, to] = [to, from];
  }
  rows.resize([4, 2]);
  context.dispatch(graph, { past: from, new: rows }, { present: to, turned: all });
  rows.resize([1, 2]);
  assert.throws(() => context.dispatch(graph, { past: to, new: rows }, { present: from, turned: all }),
    { name: 'TypeError', message: /capacity/ });
});
