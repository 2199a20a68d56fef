'use strict';
promise_test(async () => {}, 'before the crash');
promise_test(async () => { await new Promise((done) => setTimeout(done, 50)); process.abort(); },
             'crashes');
