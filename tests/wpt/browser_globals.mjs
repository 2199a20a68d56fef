// The part of a browser's global scope that testharness.js, idlharness.js and the tests of WebNN
// look at. Everything else is Node's own.

import {readFileSync} from 'node:fs';

import {addNewerJavaScript} from './newer_javascript.mjs';

/** Error events as EventTarget knows them; Node has no ErrorEvent. */
class FailureEvent extends Event {
  constructor(type, fields) {
    super(type);
    Object.assign(this, fields);
  }
}

function defineGlobal(name, value) {
  Object.defineProperty(globalThis, name, {value, writable: true, configurable: true});
}

// Navigator, or WorkerNavigator, with the mixin NavigatorML, as WebIDL lays out an interface.
function makeNavigator(name, ml) {
  const Navigator = {[name]: class {}}[name];
  const navigator = new Navigator();
  const mixin = {
    get ml() {
      if (this !== navigator) throw new TypeError('Illegal invocation');
      return ml;
    },
  };
  Object.defineProperty(Navigator.prototype, 'ml', Object.getOwnPropertyDescriptor(mixin, 'ml'));
  Object.defineProperty(Navigator.prototype, Symbol.toStringTag,
                        {value: name, configurable: true});
  defineGlobal(name, Navigator);
  defineGlobal('navigator', navigator);
}

// What the page's window would report: errors that nobody caught reach the harness as events.
function forwardFailures(target) {
  process.on('uncaughtException', (error) => {
    const message = String(error?.message ?? error);
    target.dispatchEvent(new FailureEvent('error', {message, error}));
  });
  process.on('unhandledRejection', (reason) => {
    target.dispatchEvent(new FailureEvent('unhandledrejection', {reason}));
  });
}

function defineScope(scope) {
  defineGlobal('self', globalThis);
  defineGlobal('GLOBAL', {
    isWindow: () => scope === 'window',
    isWorker: () => scope === 'worker',
    isShadowRealm: () => false,
  });
  if (scope === 'window') {
    defineGlobal('window', globalThis);
    defineGlobal('Window', class Window {});
  } else {
    defineGlobal('DedicatedWorkerGlobalScope', class {
      static [Symbol.hasInstance](value) {
        return value === globalThis;
      }
    });
    // For the page that started the worker; results are taken from the harness's callbacks.
    defineGlobal('postMessage', () => {});
  }
}

/**
 * @param {{url: URL, scope: 'window'|'worker', readFile: function(string): (string|null),
 *     webnn: Object}} options `readFile` gives the text behind an absolute path of the suite, or
 *     null; `webnn` holds `ml` and the interface objects.
 */
export function installBrowserGlobals({url, scope, readFile, webnn}) {
  const {ml, ...interfaces} = webnn;
  for (const [name, value] of Object.entries(interfaces)) {
    if (/^ML/.test(name)) defineGlobal(name, value);
  }
  makeNavigator(scope === 'window' ? 'Navigator' : 'WorkerNavigator', ml);

  const target = new EventTarget();
  for (const method of ['addEventListener', 'removeEventListener', 'dispatchEvent']) {
    defineGlobal(method, target[method].bind(target));
  }
  forwardFailures(target);

  defineScope(scope);
  addNewerJavaScript();
  defineGlobal('location', url);
  defineGlobal('isSecureContext', true);
  defineGlobal('crossOriginIsolated', true);
  defineGlobal('fetch', async (resource) => {
    const text = readFile(new URL(resource, url).pathname);
    return text === null ? new Response('', {status: 404}) : new Response(text);
  });
}

/** Files below `root` by their path in the suite, with the alias that the suite's server has. */
export function suiteReader(root, replacements = {}) {
  return (path) => {
    const file = path === '/resources/WebIDLParser.js' ? '/resources/webidl2/lib/webidl2.js' : path;
    try {
      return readFileSync(replacements[file] ?? root + file, 'utf8');
    } catch {
      return null;
    }
  };
}
