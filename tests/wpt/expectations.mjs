// Subtests of the public suite that cannot pass on an implementation of today's draft: wrong there,
// or older than the draft. Each with its reason. A listed subtest that passes is reported too: its
// entry has then outlived its cause.

/** In place of a subtest's name: the status of the whole file. */
export const HARNESS = '(harness)';

/** @type {{file: string, subtests: (string|RegExp)[], reason: string}[]} */
export const LISTED = [];

/** The entry of LISTED for a subtest, or undefined. */
export function listed(file, subtest, list = LISTED) {
  const names = (pattern) =>
      pattern instanceof RegExp ? pattern.test(subtest) : pattern === subtest;
  return list.find((entry) => entry.file === file && entry.subtests.some(names));
}
