// Runs one variant of one test file in this process and reports to the parent over IPC:
//   {type: 'started', name}, {type: 'subtest', name, status, message}, {type: 'complete', ...}.
// For the scope 'worker' it does so in a thread. Started by job.mjs alone.

import {pathToFileURL} from 'node:url';
import vm from 'node:vm';
import {Worker, isMainThread, parentPort} from 'node:worker_threads';

import {installBrowserGlobals, suiteReader} from './browser_globals.mjs';
import {parseMeta} from './meta.mjs';

// By the numbers that testharness.js uses.
const SUBTEST_STATUS = ['PASS', 'FAIL', 'TIMEOUT', 'NOTRUN', 'PRECONDITION_FAILED'];
const HARNESS_STATUS = ['OK', 'ERROR', 'TIMEOUT', 'PRECONDITION_FAILED'];

const job = JSON.parse(process.argv[2]);
const readFile = suiteReader(job.root, job.replacements);

function report(message) {
  if (!isMainThread) return parentPort.postMessage(message);
  // The last message must be out before the process goes.
  process.send(message, () => {
    if (message.type === 'complete') process.exit(0);
  });
}

function load(path) {
  const text = readFile(path);
  if (text === null) throw new Error(`The suite has no file (${path})`);
  // In this context, so that the top-level const and let of one script are seen by the next.
  new vm.Script(text, {filename: path}).runInThisContext();
}

function reportResults() {
  globalThis.add_test_state_callback((test) => {
    if (test.phase === test.phases.INITIAL) report({type: 'started', name: test.name});
  });
  globalThis.add_result_callback(({name, status, message}) => {
    report({type: 'subtest', name, status: SUBTEST_STATUS[status], message});
  });
  globalThis.add_completion_callback((tests, {status, message}) => {
    report({type: 'complete', status: HARNESS_STATUS[status], message});
  });
}

async function runFile() {
  const webnn = await import(job.webnn.startsWith('/') ? pathToFileURL(job.webnn) : job.webnn);
  const url = new URL(`https://web-platform.test${job.file}${job.variant}`);
  installBrowserGlobals({url, scope: job.scope, readFile, webnn: webnn.default ?? webnn});
  load('/resources/testharness.js');
  reportResults();
  try {
    for (const script of parseMeta(readFile(job.file) ?? '').scripts) {
      load(new URL(script, url).pathname);
    }
    load(job.file);
  } catch (error) {
    globalThis.dispatchEvent(Object.assign(new Event('error'), {message: String(error), error}));
  }
  // In a worker the harness waits to be told that all tests are there.
  if (job.scope === 'worker') globalThis.done();
  // It has no limit of its own outside a page. Its timeout() keeps the results so far.
  setTimeout(() => globalThis.timeout(), job.timeout_ms);
}

function runInWorker() {
  const worker = new Worker(new URL(import.meta.url), {argv: [JSON.stringify(job)]});
  worker.on('message', report);
}

// Without its parent it has nobody to report to.
if (isMainThread) process.on('disconnect', () => process.exit(1));

if (job.scope === 'worker' && isMainThread) {
  runInWorker();
} else {
  await runFile();
}
