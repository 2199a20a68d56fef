// Finds and loads the native half: WEBNN_ADDON, else in this package (bin/), else in a build of the
// repository that this folder is in.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const places = [
  process.env.WEBNN_ADDON,
  join(here, 'bin/webnn.node'),
  join(here, '../../build/release/bin/webnn.node'),
  join(here, '../../build/dev/bin/webnn.node'),
].filter(Boolean);

const path = places.find((place) => existsSync(place));
if (path === undefined) {
  throw new Error(`the addon is not built (looked for ${places.join(', ')}): cmake --build ` +
                  '--preset release --target webnn_node');
}

export const native = createRequire(import.meta.url)(path);

const refusals = new WeakSet();

// The draft's exceptions, which the native half asks for by name.
native.setUp((name, message, cause) => {
  const exception = name === 'TypeError' ? new TypeError(message)
    : new DOMException(message, name);
  if (cause === 'Quota' || cause === 'OutOfMemory') refusals.add(exception);
  return exception;
});

// What `make` promises. Refused for want of room, it is asked once more after what scripts have
// dropped is freed.
export async function withRoom(make) {
  try {
    return await make();
  } catch (error) {
    if (!refusals.has(error)) throw error;
  }
  await (collecting ??= collect());
  return make();
}

// One collection is for all who wait for room.
let collecting;

async function collect() {
  native.collectGarbage();
  // Found in this turn of the loop, freed in the next ones.
  for (let turn = 0; turn < 3; ++turn) await new Promise(setImmediate);
  collecting = undefined;
}

// How to reach a service: a daemon that listens at WEBNND_SOCKET, else a private one, started from
// WEBNND, else from beside the addon, else by the client's own search.
export function connection() {
  const { WEBNND_SOCKET: socket = '', WEBNND: program = '' } = process.env;
  const beside = join(dirname(path), 'webnnd');
  return { socket, program: program || (existsSync(beside) ? beside : '') };
}
