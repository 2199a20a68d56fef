// What came out: totals by folder and device, and what a person has to look at.

import {HARNESS, listed} from './expectations.mjs';
import {deviceOfVariant} from './meta.mjs';

const PASSED = new Set(['PASS', 'OK']);

// The file's own status counts only where it says something that no subtest does.
function verdicts(result) {
  const all = result.subtests.map(({name, status, message}) => ({name, status, message}));
  if (result.status !== 'OK' || result.subtests.length === 0) {
    all.push({name: HARNESS, status: result.status === 'OK' ? 'NOTRUN' : result.status,
              message: result.message});
  }
  return all;
}

function emptyTotals() {
  return {files: 0, subtests: 0, passed: 0, listed: 0, unexpected: 0, crashes: 0, timeouts: 0};
}

/**
 * @param {Object[]} results What runJob gave.
 * @return {{totals: Object, unexpected: Object[], listed: Object[], outlived: Object[]}} `totals`
 *     by folder, then device; `outlived` are listed subtests that pass.
 */
export function summarize(results, list = undefined) {
  const summary = {totals: {}, unexpected: [], listed: [], outlived: []};
  for (const result of results) {
    const folder = result.file.includes('/') ? result.file.split('/')[0] : '.';
    const device = deviceOfVariant(result.variant) ?? 'any';
    const totals = ((summary.totals[folder] ??= {})[device] ??= emptyTotals());
    totals.files += 1;
    totals.crashes += result.status === 'CRASH' ? 1 : 0;
    totals.timeouts += result.status === 'TIMEOUT' ? 1 : 0;
    for (const {name, status, message} of verdicts(result)) {
      const where = {file: result.file, variant: result.variant, subtest: name, status, message};
      const entries = listed(result.file, name, list);
      const excuse = entries.find((entry) => entry.message.test(message ?? ''));
      totals.subtests += name === HARNESS ? 0 : 1;
      if (PASSED.has(status)) {
        totals.passed += 1;
        if (entries.length > 0) summary.outlived.push({...where, reason: entries[0].reason});
      } else if (excuse !== undefined) {
        totals.listed += name === HARNESS ? 0 : 1;
        summary.listed.push({...where, reason: excuse.reason});
      } else {
        totals.unexpected += 1;
        summary.unexpected.push(where);
      }
    }
  }
  return summary;
}

function line({file, variant, subtest, status, message, reason}) {
  const cause = reason ?? message;
  return `${file}${variant}: ${subtest}: ${status}${cause ? `: ${cause.split('\n')[0]}` : ''}`;
}

/** The summary for a person, one line for each thing to look at, the totals last. */
export function describe(summary, {verbose}) {
  const lines = [];
  if (verbose) lines.push(...summary.listed.map((entry) => `LISTED ${line(entry)}`));
  lines.push(...summary.outlived.map((entry) => `PASSES THOUGH LISTED ${line(entry)}`));
  lines.push(...summary.unexpected.map((entry) => `UNEXPECTED ${line(entry)}`));
  for (const [folder, devices] of Object.entries(summary.totals)) {
    for (const [device, t] of Object.entries(devices)) {
      lines.push(`${folder} ${device}: ${t.passed} of ${t.subtests} subtests passed, ` +
                 `${t.listed} listed, ${t.unexpected} unexpected ` +
                 `(${t.files} files, ${t.crashes} crashed, ${t.timeouts} timed out)`);
    }
  }
  return lines.join('\n');
}
