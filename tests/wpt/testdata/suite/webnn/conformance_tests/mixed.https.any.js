// META: title=one subtest that passes and one that fails
// META: global=window,dedicatedworker
// META: variant=?cpu
// META: variant=?gpu
// META: script=../resources/helper.js
'use strict';
promise_test(async () => {
  const context = await navigator.ml.createContext({deviceType: device});
  if (!(context instanceof MLContext)) throw new Error('no MLContext');
}, 'passes');
promise_test(async () => { throw new Error(`wrong on ${device}`); }, 'fails');
promise_test(async () => {
  const inWorker = self instanceof (self.DedicatedWorkerGlobalScope ?? class {});
  if (GLOBAL.isWorker() !== inWorker) throw new Error('neither window nor worker');
  if ('window' in self === inWorker) throw new Error('both window and worker');
}, GLOBAL.isWorker() ? 'is a worker' : 'is a window');
