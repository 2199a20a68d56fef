// Numbers that are the same in every run, so that a failure can be looked at again.

/** A generator (mulberry32) of numbers in [0, 1). */
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), bits | 61)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` numbers in [low, high), as the float32 nearest to each. */
export function floats(next, count, low = -1, high = 1) {
  return Float32Array.from({length: count}, () => low + (high - low) * next());
}

/** `count` bytes. */
export function bytes(next, count) {
  return Uint8Array.from({length: count}, () => Math.floor(256 * next()));
}
