// float16 as its bits: the Node.js of today has no Float16Array.

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** The bits of the float16 nearest to a number, ties to even. */
export function toFloat16(value) {
  single[0] = value;
  const bits = singleBits[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {  // below 2^-14, the smallest normal: a multiple of 2^-24
    const units = Math.abs(single[0]) * 2 ** 24;
    const floor = Math.floor(units);
    const rest = units - floor;
    return sign | (floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0));
  }
  const rebiased = magnitude - 0x38000000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

/** The number that 16 bits stand for. */
export function fromFloat16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
