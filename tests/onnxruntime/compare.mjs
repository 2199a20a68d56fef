// How far two results lie apart.

import assert from 'node:assert/strict';

import {fromFloat16} from './float16.mjs';

// Relative to the largest value expected, or 1; float16 rounds each intermediate result to 11 bits.
const RELATIVE = {float32: 1e-5, float16: 5e-3};

/** The numbers of a tensor of a float type. */
export function numbersOf({type, data}) {
  return type === 'float16' && data instanceof Uint16Array ?
      Float32Array.from(data, fromFloat16) : Float32Array.from(data);
}

/** The bound on the absolute difference from `expected`. */
export function tolerance(type, expected) {
  return RELATIVE[type] * expected.reduce((bound, value) => Math.max(bound, Math.abs(value)), 1);
}

/** Fails when a number is farther from the expected one than `bound`, or is none. */
export function assertClose(actual, expected, bound, what) {
  assert.equal(actual.length, expected.length, `${what}: length`);
  let worst = 0;
  for (let i = 0; i < expected.length; ++i) {
    const difference = Math.abs(actual[i] - expected[i]);
    // Written so that NaN fails.
    assert.ok(difference <= bound,
              `${what}[${i}] is ${actual[i]}, not ${expected[i]} (bound ${bound})`);
    worst = Math.max(worst, difference);
  }
  return worst;
}
