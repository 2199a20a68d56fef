'use strict';
promise_test(async () => {}, 'settles');
promise_test(() => new Promise(() => {}), 'never settles');
