// When a process that uses the package ends, what its daemon does, and worker threads.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { ml } from './support.mjs';

const index = fileURLToPath(new URL('../../client/node/index.mjs', import.meta.url));

// Runs a script that has `ml` and `MLGraphBuilder` in a process of its own.
async function run(script, environment = {}) {
  const source = `import { ml, MLGraphBuilder } from ${JSON.stringify(index)};\n${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source],
    { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  const out = [], errors = [];
  child.stdout.on('data', (data) => out.push(data));
  child.stderr.on('data', (data) => errors.push(data));
  const timer = setTimeout(() => child.kill('SIGKILL'), 20000);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  return { code, signal, out: Buffer.concat(out).toString(), errors: Buffer.concat(errors).toString() };
}

const descriptor = '{ dataType: \'float32\', shape: [4] }';

test('an idle context does not keep the process alive', async () => {
  const { code, signal, errors } = await run(`
    const context = await ml.createContext();
    context.lost.then(() => console.log('lost'));
    globalThis.tensor = await context.createTensor(${descriptor});`);
  assert.deepEqual({ code, signal, errors }, { code: 0, signal: null, errors: '' });
});

test('a pending promise does', async () => {
  const { code, out, errors } = await run(`
    const context = await ml.createContext();
    context.createTensor({ ...${descriptor}, readable: true })
      .then((tensor) => context.readTensor(tensor))
      .then((bytes) => console.log(bytes.byteLength));`);
  assert.deepEqual({ code, out, errors }, { code: 0, out: '16\n', errors: '' });
});

test('process.exit in the middle of everything ends cleanly', async () => {
  const { code, signal } = await run(`
    const context = await ml.createContext();
    const tensor = await context.createTensor({ ...${descriptor}, readable: true });
    for (let i = 0; i < 100; ++i) context.readTensor(tensor);
    ml.createContext();
    process.exit(7);`);
  assert.deepEqual({ code, signal }, { code: 7, signal: null });
});

test('an exception in a reaction is the process\'s', async () => {
  const { code, errors } = await run(`
    await ml.createContext();
    ml.createContext().then(() => { throw new Error('thrown in a reaction'); });`);
  assert.equal(code, 1);
  assert.match(errors, /thrown in a reaction/);
});

test('a service that cannot be reached rejects with NotSupportedError', async () => {
  for (const environment of [{ WEBNND: '/nonexistent/webnnd' },
    { WEBNND_SOCKET: '/nonexistent/socket' }]) {
    const { code, out } = await run(`
      await ml.createContext().catch((error) => console.log(error.name, error.message));`,
    environment);
    assert.equal(code, 0);
    assert.match(out, /^NotSupportedError .*\/nonexistent\//);
  }
});

const parentOf = (pid) => Number(/\nPPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

function children(pid) {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
    try {
      return parentOf(name) === pid;
    } catch {
      return false;  // It has ended.
    }
  }).map(Number);
}

test('the private daemon ends with the process', async () => {
  const { out } = await run(`
    import { readdirSync, readFileSync } from 'node:fs';
    await ml.createContext();
    for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
      try {
        if (readFileSync('/proc/' + pid + '/status', 'utf8').includes('PPid:\\t' + process.pid + '\\n')) {
          console.log(pid);
        }
      } catch {}
    }`);
  const daemons = out.trim().split('\n');
  assert.equal(daemons.length, 1);
  assert.throws(() => process.kill(Number(daemons[0]), 0), { code: 'ESRCH' });
});

test('a daemon at WEBNND_SOCKET serves several processes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'webnn-node-'));
  const socket = join(folder, 'socket');
  const daemon = spawn(process.env.WEBNND, ['serve', '--socket', socket], { stdio: 'ignore' });
  try {
    while (!readdirSync(folder).includes('socket')) await new Promise((r) => setTimeout(r, 10));
    const runs = await Promise.all([1, 2].map(() => run(
      'console.log((await ml.createContext()).accelerated);',
      { WEBNND_SOCKET: socket, WEBNND: '/nonexistent' })));
    for (const { code, out } of runs) assert.deepEqual([code, out], [0, 'false\n']);
  } finally {
    daemon.kill();
    await once(daemon, 'exit');
    rmSync(folder, { recursive: true });
  }
});

const workerSource = `
  const { parentPort } = require('node:worker_threads');
  import(${JSON.stringify(index)}).then(async ({ ml, MLGraphBuilder }) => {
    const context = await ml.createContext();
    const builder = new MLGraphBuilder(context);
    const x = builder.input('x', ${descriptor});
    const graph = await builder.build({ y: builder.add(x, x) });
    const input = await context.createTensor({ ...${descriptor}, writable: true });
    const output = await context.createTensor({ ...${descriptor}, readable: true });
    context.writeTensor(input, new Float32Array([1, 2, 3, 4]));
    context.dispatch(graph, { x: input }, { y: output });
    parentPort.postMessage(new Float32Array(await context.readTensor(output)));
    globalThis.context = context;
    LAST
  });`;

test('worker threads have a connection each', async () => {
  await ml.createContext();
  const before = children(process.pid).length;
  const workers = [1, 2, 3].map(() => new Worker(
    workerSource.replace('LAST', 'await new Promise((end) => parentPort.once(\'message\', end));'),
    { eval: true }));
  for (const [result] of await Promise.all(workers.map((worker) => once(worker, 'message')))) {
    assert.deepEqual(result, new Float32Array([2, 4, 6, 8]));
  }
  assert.equal(children(process.pid).length, before + 3);
  const ends = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.postMessage('end');
  await Promise.all(ends);
  assert.equal(children(process.pid).length, before);
});

test('an idle worker thread ends; a terminated one does not hurt', async () => {
  const idle = new Worker(workerSource.replace('LAST', ''), { eval: true });
  assert.deepEqual(await once(idle, 'exit'), [0]);
  for (let i = 0; i < 5; ++i) {
    const busy = new Worker(workerSource.replace('LAST',
      'for (;;) { context.dispatch(graph, { x: input }, { y: output });' +
      ' await context.readTensor(output); }'), { eval: true });
    await once(busy, 'message');
    await new Promise((resolve) => setTimeout(resolve, i * 7));
    assert.equal(await busy.terminate(), 1);
  }
});
