// webnn-node/global: a script that was written for a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import '../../client/node/global.mjs';

test('navigator.ml and the interfaces are globals', async () => {
  const context = await navigator.ml.createContext({ deviceType: 'gpu' });
  assert.ok(context instanceof MLContext);
  assert.ok(new MLGraphBuilder(context) instanceof globalThis.MLGraphBuilder);
  assert.equal(navigator.ml, navigator.ml);
  assert.ok(navigator.ml instanceof ML);
  const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, 'ML');
  assert.deepEqual({ enumerable, writable, configurable },
    { enumerable: false, writable: true, configurable: true });
});

test('ml is a read-only attribute of Navigator', () => {
  const { get, set, enumerable } = Object.getOwnPropertyDescriptor(Navigator.prototype, 'ml');
  assert.deepEqual([get.name, set, enumerable], ['get ml', undefined, true]);
  assert.throws(() => Navigator.prototype.ml, TypeError);
  assert.throws(() => { 'use strict'; navigator.ml = 1; }, TypeError);
});
