// Runs one variant of one test file in a process of its own and says how it went, also when that
// process crashes or hangs.

import {fork} from 'node:child_process';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const CHILD = join(dirname(fileURLToPath(import.meta.url)), 'file.mjs');
// Between the harness's own time-out, which keeps what was done, and the end of the process.
const GRACE_MS = 5000;
const STDERR_CHARS_MAX = 2000;

// Tests use ArrayBuffer.prototype.transfer, which Node 20 has behind a flag.
const NODE_FLAGS =
    ArrayBuffer.prototype.transfer === undefined ? ['--harmony-rab-gsab-transfer'] : [];

/**
 * @param {{file: string, variant: string, root: string, timeout_ms: number, webnn: string}} job
 * @return {Promise<{file, variant, status, message, duration_ms, subtests}>} `status` is the
 *     harness's (OK, ERROR, TIMEOUT, PRECONDITION_FAILED) or CRASH; `subtests` have `name`,
 *     `status` and `message`, those without a result are NOTRUN.
 */
export function runJob(job) {
  const begin = performance.now();
  const subtests = new Map();
  const result = {file: job.file.replace(/^\/webnn\//, ''), variant: job.variant,
                  status: 'CRASH', message: null};
  let timedOut = false;
  let stderr = '';

  const child = fork(CHILD, [JSON.stringify(job)],
                     {execArgv: NODE_FLAGS, stdio: ['ignore', 'ignore', 'pipe', 'ipc']});
  const killer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, job.timeout_ms + GRACE_MS);
  child.stderr.on('data', (text) => {
    stderr = (stderr + text).slice(-STDERR_CHARS_MAX);
  });
  child.on('message', ({type, name, status, message}) => {
    if (type === 'started') subtests.set(name, {status: 'NOTRUN', message: null});
    if (type === 'subtest') subtests.set(name, {status, message});
    if (type === 'complete') Object.assign(result, {status, message});
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(killer);
      if (timedOut) {
        result.status = 'TIMEOUT';
      } else if (code !== 0 || result.status === 'CRASH') {
        result.status = 'CRASH';
        result.message = `The process ended with ${signal ?? code}: ${stderr.trim()}`;
      }
      result.duration_ms = Math.round(performance.now() - begin);
      result.subtests = [...subtests].map(([name, report]) => ({name, ...report}));
      resolve(result);
    });
  });
}
