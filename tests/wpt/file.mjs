// Runs one variant of one test file in this process and reports to the parent over IPC:
//   {type: 'started', name}, {type: 'subtest', name, status, message}, {type: 'complete', ...}.
// Started by run.mjs alone.

import {pathToFileURL} from 'node:url';
import vm from 'node:vm';

import {installBrowserGlobals, suiteReader} from './browser_globals.mjs';
import {parseMeta} from './meta.mjs';

// By the numbers that testharness.js uses.
const SUBTEST_STATUS = ['PASS', 'FAIL', 'TIMEOUT', 'NOTRUN', 'PRECONDITION_FAILED'];
const HARNESS_STATUS = ['OK', 'ERROR', 'TIMEOUT', 'PRECONDITION_FAILED'];

const job = JSON.parse(process.argv[2]);
const webnn = await import(job.webnn.startsWith('/') ? pathToFileURL(job.webnn) : job.webnn);
const readFile = suiteReader(job.root, job.replacements);
const url = new URL(`https://web-platform.test${job.file}${job.variant}`);
installBrowserGlobals({url, readFile, webnn: webnn.default ?? webnn});

function load(path) {
  const text = readFile(path);
  if (text === null) throw new Error(`The suite has no file (${path})`);
  // In this context, so that the top-level const and let of one script are seen by the next.
  new vm.Script(text, {filename: path}).runInThisContext();
}

function reportResults() {
  globalThis.add_test_state_callback((test) => {
    if (test.phase === test.phases.INITIAL) process.send({type: 'started', name: test.name});
  });
  globalThis.add_result_callback(({name, status, message}) => {
    process.send({type: 'subtest', name, status: SUBTEST_STATUS[status], message});
  });
  globalThis.add_completion_callback((tests, {status, message}) => {
    // The last message must be out before the process goes.
    process.send({type: 'complete', status: HARNESS_STATUS[status], message},
                 () => process.exit(0));
  });
}

const meta = parseMeta(readFile(job.file) ?? '');
load('/resources/testharness.js');
reportResults();
try {
  for (const script of meta.scripts) load(new URL(script, url).pathname);
  load(job.file);
} catch (error) {
  globalThis.dispatchEvent(Object.assign(new Event('error'), {message: String(error), error}));
}
// The harness has no limit of its own outside a page. Its timeout() keeps the results so far.
setTimeout(() => globalThis.timeout(), job.timeout_ms);
