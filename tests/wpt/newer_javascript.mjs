// What the suite uses of JavaScript and Node.js 20 has not yet.

// Float16Array is in Node.js from version 24 on. The tests use its name and its size in bytes; the
// elements of this one are the bits.
class Float16Array extends Uint16Array {}

// Set.prototype.difference is in Node.js from version 22 on.
function difference(other) {
  return new Set([...this].filter((value) => !other.has(value)));
}

export function addNewerJavaScript() {
  globalThis.Float16Array ??= Float16Array;
  if (Set.prototype.difference !== undefined) return;
  Object.defineProperty(Set.prototype, 'difference',
                        {value: difference, writable: true, configurable: true});
}
