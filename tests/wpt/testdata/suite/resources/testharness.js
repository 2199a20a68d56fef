// The few functions of testharness.js that the runner's own tests need, with its interface.
'use strict';
(function(scope) {
const PHASES = {INITIAL: 0, COMPLETE: 4};
const tests = [];
const callbacks = {state: [], result: [], completion: []};
const harness = {status: 0, message: null};
let queue = Promise.resolve();

const notify = (kind, ...values) => callbacks[kind].forEach((callback) => callback(...values));

function finish(test, status, message = null) {
  if (test.phase === PHASES.COMPLETE) return;
  Object.assign(test, {status, message, phase: PHASES.COMPLETE});
  notify('result', test);
}

function complete(status) {
  harness.status = status;
  for (const test of tests) finish(test, 3);
  notify('completion', tests, harness);
}

scope.promise_test = (body, name) => {
  const test = {name, phase: PHASES.INITIAL, phases: PHASES};
  tests.push(test);
  notify('state', test);
  queue = queue.then(() => body()).then(() => finish(test, 0),
                                        (error) => finish(test, 1, error.message));
};
scope.done = () => {};
scope.timeout = () => complete(2);
scope.add_test_state_callback = (callback) => callbacks.state.push(callback);
scope.add_result_callback = (callback) => callbacks.result.push(callback);
scope.add_completion_callback = (callback) => callbacks.completion.push(callback);
scope.addEventListener('error', (event) => {
  harness.message = event.message;
  complete(1);
});
Promise.resolve().then(() => queue).then(() => complete(harness.status));
})(self);
