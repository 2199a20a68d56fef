// Runs the web-platform-tests of WebNN, unmodified, on webnn-node. See README.md.

import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {availableParallelism, tmpdir} from 'node:os';
import {basename, dirname, join, relative, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

import {runJob} from './job.mjs';
import {deviceOfVariant, parseMeta} from './meta.mjs';
import {describe, summarize} from './summary.mjs';

const USAGE = `usage: node tests/wpt/run.mjs --wpt DIR [OPTION]... [FILE]...
  --wpt DIR       a copy of web-platform-tests (its webnn, resources and interfaces folders)
  --variant D     cpu, gpu or npu; may be repeated (default: all that a file names)
  --scope S       window (the default) or worker: a thread, for the files that ask for it
  --webnn MODULE  what provides navigator.ml (default: client/node of this tree)
  --webnnd PATH   a daemon to start once for all (default: WEBNND; without it one per process)
  --idl FILE      stands in for interfaces/webnn.idl of the suite
  --json FILE     writes every result there
  --jobs N        processes at a time (default: the cores)
  --patience X    multiplies the time limits of the tests, 10 s or 60 s a file (default: 2)
  --verbose       names each file as it ends, and the listed failures too
FILE is a path, or one below DIR/webnn; default: conformance_tests, validation_tests, idlharness.
Exits 1 when a subtest fails that is not listed in expectations.mjs.`;

const HERE = dirname(fileURLToPath(import.meta.url));
const TIMEOUT_MS = {normal: 10000, long: 60000};
const DAEMON_START_MS_MAX = 30000;

function readOptions() {
  const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {
      wpt: {type: 'string'},
      variant: {type: 'string', multiple: true, default: []},
      scope: {type: 'string', default: 'window'},
      webnn: {type: 'string', default: join(HERE, '../../client/node/index.mjs')},
      webnnd: {type: 'string', default: process.env.WEBNND},
      idl: {type: 'string'},
      json: {type: 'string'},
      jobs: {type: 'string', default: String(availableParallelism())},
      patience: {type: 'string', default: '2'},
      verbose: {type: 'boolean', default: false},
      help: {type: 'boolean', default: false},
    },
  });
  if (values.help || values.wpt === undefined) {
    console.error(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  const wpt = resolve(values.wpt);
  if (!existsSync(join(wpt, 'resources/testharness.js'))) {
    console.error(`no web-platform-tests there (${wpt}/resources/testharness.js is missing)`);
    process.exit(2);
  }
  return {...values, wpt, jobs: Number(values.jobs), patience: Number(values.patience),
          files: positionals.map((file) => belowWebnn(wpt, file))};
}

function belowWebnn(wpt, file) {
  const webnn = join(wpt, 'webnn');
  const path = [join(webnn, file), join(wpt, file), resolve(file)].find(existsSync);
  if (path === undefined) {
    console.error(`no such test (${file})`);
    process.exit(2);
  }
  return relative(webnn, path);
}

function defaultFiles(root) {
  const tests = ['conformance_tests', 'validation_tests'].flatMap(
      (folder) => readdirSync(join(root, 'webnn', folder))
                      .filter((name) => name.endsWith('.any.js'))
                      .map((name) => `${folder}/${name}`));
  return [...tests, 'idlharness.https.any.js'];
}

function jobsOf(file, options) {
  const meta = parseMeta(readFileSync(join(options.wpt, 'webnn', file), 'utf8'));
  const wanted = (variant) => options.variant.length === 0 || deviceOfVariant(variant) === null ||
      options.variant.includes(deviceOfVariant(variant));
  if (!meta.scopes.includes(options.scope)) return [];
  return meta.variants.filter(wanted).map((variant) => ({
    file: `/webnn/${file}`,
    variant,
    scope: options.scope,
    root: options.wpt,
    webnn: existsSync(options.webnn) ? resolve(options.webnn) : options.webnn,
    replacements: options.idl ? {'/interfaces/webnn.idl': resolve(options.idl)} : {},
    timeout_ms: (meta.long ? TIMEOUT_MS.long : TIMEOUT_MS.normal) * options.patience,
  }));
}

// One daemon for all test processes; each of them still has a worker of its own.
async function startDaemon(path) {
  const folder = mkdtempSync(join(tmpdir(), 'webnnd-wpt-'));
  const socket = join(folder, 'socket');
  const daemon = spawn(path, ['serve', '--socket', socket],
                       {stdio: ['ignore', 'ignore', 'inherit']});
  const stop = () => {
    daemon.kill();
    rmSync(folder, {recursive: true, force: true});
  };
  for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143]]) {
    process.once(signal, () => {
      stop();
      process.exit(status);
    });
  }
  const deadline = Date.now() + DAEMON_START_MS_MAX;
  while (!existsSync(socket)) {
    if (daemon.exitCode !== null || Date.now() > deadline) {
      stop();
      throw new Error(`The daemon does not start (${path})`);
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  process.env.WEBNND_SOCKET = socket;
  return stop;
}

function reportProgress({file, variant, status, subtests, duration_ms}) {
  const passed = subtests.filter((subtest) => subtest.status === 'PASS').length;
  console.error(`${file}${variant}: ${status}, ${passed} of ${subtests.length}, ${duration_ms} ms`);
}

async function runAll(jobs, {jobs: parallel, verbose}) {
  const results = new Array(jobs.length);
  let next = 0;
  const runner = async () => {
    while (next < jobs.length) {
      const index = next++;
      results[index] = await runJob(jobs[index]);
      if (verbose) reportProgress(results[index]);
    }
  };
  await Promise.all(Array.from({length: parallel}, runner));
  return results;
}

const options = readOptions();
const files = options.files.length > 0 ? options.files : defaultFiles(options.wpt);
const jobs = files.flatMap((file) => jobsOf(file, options));
const stopDaemon = options.webnnd && !process.env.WEBNND_SOCKET ?
    await startDaemon(options.webnnd) : () => {};
let results;
try {
  results = await runAll(jobs, options);
} finally {
  stopDaemon();
}
const summary = summarize(results);
if (options.json) {
  writeFileSync(options.json, JSON.stringify({suite: basename(options.wpt), ...summary, results}));
}
console.log(describe(summary, options));
process.exitCode = summary.unexpected.length > 0 ? 1 : 0;
