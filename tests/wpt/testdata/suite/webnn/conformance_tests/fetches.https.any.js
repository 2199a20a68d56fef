'use strict';
promise_test(async () => {
  const text = await (await fetch('/interfaces/webnn.idl')).text();
  if (text.trim() !== 'interface ML {};') throw new Error(text);
}, 'a file of the suite');
promise_test(async () => {
  if ((await fetch('/interfaces/other.idl')).ok) throw new Error('found');
}, 'a file that is not there');
