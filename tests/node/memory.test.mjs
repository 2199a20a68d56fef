// What scripts drop is freed: 10,000 objects of each kind, destroyed or left to the garbage
// collector, leave the memory of this process and of the worker where it was. Contexts take a
// collection every few; WEBNN_NODE_CONTEXTS=10000 makes as many of them.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, test } from 'node:test';

import { float32, ml, MLGraphBuilder } from './support.mjs';

const OBJECTS = 10000;
const CONTEXTS_DROPPED = Number(process.env.WEBNN_NODE_CONTEXTS ?? 2000);
// So many are under way at a time; a connection has 16 contexts at most.
const BATCH = 8;
// A kilobyte left by each would show, in the process or in the worker.
const GROWTH_MIB_MAX = (OBJECTS * 1024) / 2 ** 20;

const status = (pid, name) =>
  Number(new RegExp(`\n${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

function descendants() {
  const parents = new Map(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      return [[Number(pid), status(pid, 'PPid')]];
    } catch {
      return [];  // It has ended.
    }
  }));
  const isOurs = (pid) => pid === process.pid || (parents.has(pid) && isOurs(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== process.pid && isOurs(pid));
}

async function settledMemory() {
  for (let i = 0; i < 4; ++i) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const service = descendants().reduce((sum, pid) => sum + status(pid, 'VmRSS'), 0);
  return { client: status(process.pid, 'VmRSS') / 1024, service: service / 1024 };
}

let context;
const matrix = float32(8, 8);
const values = new Float32Array(64);
const makers = {
  tensor: () => context.createTensor(matrix),
  'constant tensor': () => context.createConstantTensor(matrix, values),
  graph: () => {
    const builder = new MLGraphBuilder(context);
    const x = builder.input('x', matrix);
    return builder.build({ y: builder.add(x, builder.constant(matrix, values)) });
  },
  context: () => ml.createContext(),
};

// A function of its own, so that nothing of one batch is on the stack of the next.
async function makeBatch(make, count, last) {
  (await Promise.all(Array.from({ length: count }, make))).forEach(last);
}

async function makeAndDrop(make, count, last) {
  for (let made = 0; made < count; made += BATCH) {
    await makeBatch(make, Math.min(BATCH, count - made), last);
  }
}

before(async () => {
  assert.ok(globalThis.gc, 'run with --expose-gc');
  context = await ml.createContext();
});

for (const [kind, make] of Object.entries(makers)) {
  for (const [how, last] of [['destroyed', (object) => object.destroy()], ['dropped', () => {}]]) {
    // Every second batch of contexts waits for a collection.
    const count = kind === 'context' && how === 'dropped' ? CONTEXTS_DROPPED : OBJECTS;
    test(`${count} of ${kind}, ${how}`, async () => {
      await makeAndDrop(make, kind === 'context' ? 500 : 5000, last);  // Heaps find their size.
      const first = await settledMemory();
      await makeAndDrop(make, count, last);
      const then = await settledMemory();
      for (const side of ['client', 'service']) {
        const growth = then[side] - first[side];
        assert.ok(growth < GROWTH_MIB_MAX, `${side} grew by ${growth.toFixed(1)} MiB`);
      }
    });
  }
}

test('builders that are dropped before they build give their constants back', async () => {
  const large = float32(256, 256);
  const ones = new Float32Array(256 * 256).fill(1);
  const make = async () => {
    new MLGraphBuilder(context).constant(large, ones);
    // An answer, before which the service has taken the constant: who sends more than it takes is
    // refused in the end.
    (await context.createTensor(matrix)).destroy();
  };
  await makeAndDrop(make, 300, () => {});
  const first = await settledMemory();
  await makeAndDrop(make, 1000, () => {});  // 256 MB of constants, and four times the builders.
  const then = await settledMemory();
  assert.ok(then.client - first.client < 64, `${then.client - first.client} MiB`);
  assert.ok(then.service - first.service < 64, `${then.service - first.service} MiB`);
});
