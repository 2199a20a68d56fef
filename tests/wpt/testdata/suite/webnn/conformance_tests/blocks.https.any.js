'use strict';
promise_test(async () => { for (;;) {} }, 'blocks');
