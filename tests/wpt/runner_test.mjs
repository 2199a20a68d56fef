// The runner on a small suite of our own whose files pass, fail, crash, hang and throw.

import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';

import {HARNESS, listed} from './expectations.mjs';
import {deviceOfVariant, parseMeta} from './meta.mjs';
import {summarize} from './summary.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'webnnd-wpt-test-'));
after(() => rmSync(folder, {recursive: true}));

function run(...args) {
  const json = join(folder, 'results.json');
  const {status, stdout, stderr} = spawnSync(
      process.execPath,
      [join(HERE, 'run.mjs'), '--wpt', join(HERE, 'testdata/suite'),
       '--webnn', join(HERE, 'testdata/fake_webnn.mjs'), '--webnnd', '', '--json', json, ...args],
      {encoding: 'utf8'});
  assert.notEqual(stdout, '', stderr);
  return {status, stdout, ...JSON.parse(readFileSync(json, 'utf8'))};
}

const outcome = ({subtests}) => subtests.map(({name, status}) => [name, status]);

test('parseMeta.Header_GivesScriptsVariantsAndTimeout', () => {
  const source = '// META: script=a.js\n// META: variant=?cpu\n// META: timeout=long\n';
  assert.deepEqual(parseMeta(source),
                   {scripts: ['a.js'], variants: ['?cpu'], long: true, scopes: ['window']});
});

test('parseMeta.LinesAfterCode_AreIgnored', () => {
  assert.deepEqual(parseMeta('\'use strict\';\n// META: script=a.js\n').scripts, []);
});

test('deviceOfVariant.BothForms_NameTheDevice', () => {
  assert.equal(deviceOfVariant('?gpu'), 'gpu');
  assert.equal(deviceOfVariant('?op=add&device=npu'), 'npu');
  assert.equal(deviceOfVariant(''), null);
});

test('Run.EachVariant_IsARunOfItsOwn', () => {
  const {status, results, totals} = run('conformance_tests/mixed.https.any.js');
  assert.equal(status, 1);
  assert.deepEqual(results.map(({variant}) => variant), ['?cpu', '?gpu']);
  assert.deepEqual(outcome(results[1]),
                   [['passes', 'PASS'], ['fails', 'FAIL'], ['is a window', 'PASS']]);
  assert.equal(results[1].subtests[1].message, 'wrong on gpu');
  assert.equal(totals.conformance_tests.gpu.passed, 2);
  assert.equal(totals.conformance_tests.gpu.unexpected, 1);
});

test('Run.PathFromHereOrFromTheSuite_NamesTheSameFile', () => {
  const file = 'conformance_tests/fetches.https.any.js';
  for (const path of [`webnn/${file}`, join(HERE, 'testdata/suite/webnn', file)]) {
    assert.equal(run(path).results[0].file, file);
  }
});

test('Run.NoSuiteOrNoFile_SaysSo', () => {
  const start = (...args) => spawnSync(process.execPath, [join(HERE, 'run.mjs'), ...args]);
  assert.equal(start('--wpt', folder).status, 2);
  assert.equal(start('--wpt', join(HERE, 'testdata/suite'), 'none.any.js').status, 2);
});

test('Run.ChosenVariant_LeavesOutTheOthers', () => {
  const {results} = run('--variant', 'cpu', 'conformance_tests/mixed.https.any.js');
  assert.deepEqual(results.map(({variant}) => variant), ['?cpu']);
});

test('Run.WorkerScope_RunsTheFilesThatAskForItInAThread', () => {
  const {results} = run('--scope', 'worker', '--variant', 'gpu',
                        'conformance_tests/mixed.https.any.js',
                        'conformance_tests/fetches.https.any.js');
  assert.equal(results.length, 1);
  assert.deepEqual(outcome(results[0]),
                   [['passes', 'PASS'], ['fails', 'FAIL'], ['is a worker', 'PASS']]);
});

test('Run.Crash_IsCountedAndKeepsEarlierResults', () => {
  const {status, results, totals} = run('conformance_tests/crash.https.any.js');
  assert.equal(status, 1);
  assert.equal(results[0].status, 'CRASH');
  assert.match(results[0].message, /SIGABRT/);
  assert.deepEqual(outcome(results[0]), [['before the crash', 'PASS'], ['crashes', 'NOTRUN']]);
  assert.equal(totals.conformance_tests.any.crashes, 1);
});

test('Run.PromiseThatNeverSettles_TimesOut', () => {
  const {status, results} =
      run('--patience', '0.05', 'conformance_tests/never_settles.https.any.js');
  assert.equal(status, 1);
  assert.equal(results[0].status, 'TIMEOUT');
  assert.deepEqual(outcome(results[0]), [['settles', 'PASS'], ['never settles', 'NOTRUN']]);
});

test('Run.ScriptThatBlocks_IsKilled', () => {
  const {status, results, totals} =
      run('--patience', '0.05', 'conformance_tests/blocks.https.any.js');
  assert.equal(status, 1);
  assert.equal(results[0].status, 'TIMEOUT');
  assert.deepEqual(outcome(results[0]), [['blocks', 'NOTRUN']]);
  assert.equal(totals.conformance_tests.any.timeouts, 1);
});

test('Run.ScriptThatThrows_IsAnErrorOfTheFile', () => {
  const {status, results, unexpected} = run('conformance_tests/throws.https.any.js');
  assert.equal(status, 1);
  assert.equal(results[0].status, 'ERROR');
  assert.match(results[0].message, /not even started/);
  assert.equal(unexpected[0].subtest, HARNESS);
});

test('Run.Fetch_ReadsTheSuiteAlone', () => {
  const {status, results} = run('conformance_tests/fetches.https.any.js');
  assert.equal(status, 0);
  assert.deepEqual(outcome(results[0]),
                   [['a file of the suite', 'PASS'], ['a file that is not there', 'PASS']]);
});

test('Run.Idl_StandsInForTheSuites', () => {
  const {results} = run('--idl', join(HERE, 'testdata/fake_webnn.mjs'),
                        'conformance_tests/fetches.https.any.js');
  assert.equal(results[0].subtests[0].status, 'FAIL');
});

const LIST = [
  {file: 'f.js', subtests: 'wrong upstream', reason: 'because', message: /got 1/},
  {file: 'f.js', subtests: /^old /, reason: 'old', message: /^$/},
];
const resultWith = (name, status, message = null) =>
    ({file: 'f.js', variant: '?cpu', status: 'OK', message: null,
      subtests: [{name, status, message}]});

test('Listed.NameOrPattern_FindsItsEntry', () => {
  assert.deepEqual(listed('f.js', 'wrong upstream', LIST), [LIST[0]]);
  assert.deepEqual(listed('f.js', 'old test', LIST), [LIST[1]]);
  assert.deepEqual(listed('g.js', 'old test', LIST), []);
});

test('Summarize.ListedFailure_IsNotUnexpected', () => {
  const summary = summarize([resultWith('wrong upstream', 'FAIL', 'expected 2, got 1')], LIST);
  assert.deepEqual(summary.unexpected, []);
  assert.equal(summary.listed[0].reason, 'because');
  assert.equal(summary.totals['.'].cpu.listed, 1);
});

test('Summarize.ListedSubtestThatFailsOtherwise_IsUnexpected', () => {
  const summary = summarize([resultWith('wrong upstream', 'FAIL', 'lost')], LIST);
  assert.equal(summary.unexpected[0].message, 'lost');
});

test('Summarize.ListedSubtestThatNeverRan_NeedsAnEntryThatSaysSo', () => {
  assert.deepEqual(summarize([resultWith('old test', 'NOTRUN')], LIST).unexpected, []);
  assert.equal(summarize([resultWith('wrong upstream', 'NOTRUN')], LIST).unexpected.length, 1);
});

test('Summarize.ListedSubtestThatPasses_IsReported', () => {
  const {outlived} = summarize([resultWith('old test', 'PASS')], LIST);
  assert.equal(outlived[0].subtest, 'old test');
});

test('Summarize.FileWithoutSubtests_IsUnexpected', () => {
  const result = {...resultWith('', 'PASS'), subtests: []};
  assert.equal(summarize([result], LIST).unexpected[0].subtest, HARNESS);
});
