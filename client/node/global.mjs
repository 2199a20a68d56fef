// import 'webnn-node/global': makes the globals that a browser has: navigator.ml and the interfaces.

import * as webnn from './index.mjs';

const { ml, ...interfaces } = webnn;

for (const [name, value] of Object.entries(interfaces)) {
  Object.defineProperty(globalThis, name,
    { value, writable: true, enumerable: false, configurable: true });
}

// Node.js has a navigator from version 21 on.
if (globalThis.navigator === undefined) {
  const { Navigator } = { Navigator: class { } };
  Object.defineProperty(Navigator.prototype, Symbol.toStringTag,
    { value: 'Navigator', configurable: true });
  Object.defineProperty(globalThis, 'Navigator',
    { value: Navigator, writable: true, enumerable: false, configurable: true });
  const navigator = new Navigator();
  const { get } = Object.getOwnPropertyDescriptor(
    { get navigator() { return navigator; } }, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { get, enumerable: true, configurable: true });
}

const { navigator } = globalThis;
const { get } = Object.getOwnPropertyDescriptor({
  get ml() {
    if (this !== navigator) throw new TypeError('Navigator.ml: the receiver is not a Navigator');
    return ml;
  },
}, 'ml');
Object.defineProperty(Object.getPrototypeOf(navigator), 'ml',
  { get, set: undefined, enumerable: true, configurable: true });
