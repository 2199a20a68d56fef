// The `// META:` lines at the top of a test file, and the runs that they ask for.

const META_LINE = /^\/\/\s*META:\s*(\w+)=(.*)$/;
const CODE_LINE = /^\s*[^\s/]/;

// A dedicated worker is the only kind that there is here.
function scopeName(name) {
  return name.trim() === 'dedicatedworker' ? 'worker' : name.trim();
}

/**
 * @param {string} source The text of an `*.any.js` or `*.window.js` test.
 * @return {{scripts: string[], variants: string[], long: boolean, scopes: string[]}} `variants` are
 *     query strings; a file without any has the one variant ''. `scopes` are of window and worker.
 */
export function parseMeta(source) {
  const meta = {scripts: [], variants: [], long: false, scopes: ['window']};
  for (const line of source.split(/\r?\n/)) {
    if (CODE_LINE.test(line)) break;
    const match = META_LINE.exec(line);
    if (match === null) continue;
    const [key, value] = [match[1], match[2].trim()];
    if (key === 'script') meta.scripts.push(value);
    if (key === 'variant') meta.variants.push(value);
    if (key === 'timeout') meta.long = value === 'long';
    if (key === 'global') meta.scopes = value.split(',').map(scopeName);
  }
  if (meta.variants.length === 0) meta.variants.push('');
  return meta;
}

/** The device type of a variant: `?gpu` and `?op=add&device=gpu` give 'gpu', and '' gives null. */
export function deviceOfVariant(variant) {
  if (variant === '') return null;
  return new URLSearchParams(variant).get('device') ?? variant.replace(/^\?/, '');
}
