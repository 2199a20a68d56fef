// The worker process dies under a script's hands.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { doubling, float32, ml, rejectsNamed } from './support.mjs';

// Children of children: the daemon's workers.
function workers() {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      parents.set(Number(pid), Number(/\nPPid:\s+(\d+)/.exec(status)[1]));
    } catch {
      // It has ended.
    }
  }
  return [...parents].filter(([, parent]) => parents.get(parent) === process.pid)
    .map(([pid]) => pid);
}

test('contexts are lost, what is pending rejects, and the next context works', async () => {
  const context = await ml.createContext();
  const { output } = await doubling(context, float32(2));
  const reads = Array.from({ length: 50 }, () => context.readTensor(output));
  const settled = Promise.allSettled(reads);
  for (const pid of workers()) process.kill(pid, 'SIGKILL');
  // Waiting for a loss alone does not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  const { message } = await context.lost;
  clearInterval(alive);
  assert.ok(message.length > 0);
  for (const { status, reason } of await settled) {
    if (status === 'rejected') assert.equal(reason.name, 'InvalidStateError');
  }
  await rejectsNamed('TypeError', () => context.readTensor(output), /lost/);
  await rejectsNamed('InvalidStateError', () => context.createTensor(float32(1)), /lost/);

  const next = await ml.createContext();
  const again = await doubling(next, float32(2));
  next.dispatch(again.graph, { x: again.input }, { y: again.output });
  assert.equal((await next.readTensor(again.output)).byteLength, 8);
});
