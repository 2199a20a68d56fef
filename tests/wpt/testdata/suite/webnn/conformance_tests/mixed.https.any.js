// META: title=one subtest that passes and one that fails
// META: variant=?cpu
// META: variant=?gpu
// META: script=../resources/helper.js
'use strict';
promise_test(async () => {
  const context = await navigator.ml.createContext({deviceType: device});
  if (!(context instanceof MLContext)) throw new Error('no MLContext');
}, 'passes');
promise_test(async () => { throw new Error(`wrong on ${device}`); }, 'fails');
