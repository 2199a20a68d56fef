// The generator's own test: what it makes of the draft, and what it refuses.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { wrapCode } from '../../webidl/generator/cpp.mjs';
import { grammarHeader } from '../../webidl/generator/fuzz.mjs';
import { effectiveIdl } from '../../webidl/generator/idl.mjs';
import { nodeDeclarations, nodeInterfaces } from '../../webidl/generator/node.mjs';
import { readModel } from '../../webidl/generator/reader.mjs';
import { operatorsSchema } from '../../webidl/generator/wire.mjs';

const webidl = join(dirname(fileURLToPath(import.meta.url)), '../../webidl');
const text = (path) => readFileSync(join(webidl, path), 'utf8');
const draft = text('node_modules/@webref/idl/webnn.idl');
const extensions = text('extensions.idl');
const overrides = JSON.parse(text('overrides.json'));

// The model of the draft with something more at the end, and with overrides changed.
function read(more = '', change = () => {}) {
  const changed = structuredClone(overrides);
  change(changed);
  return readModel({ texts: [draft, extensions, more], overrides: changed, source: 'test' });
}

function refuses(pattern, more, change) {
  assert.throws(() => read(more, change), { message: pattern });
}

test('the draft has 95 operators, 12 enums, 54 dictionaries', () => {
  const model = read();
  assert.equal(model.operators.length, 95);
  assert.equal(model.enums.length, 12);
  assert.equal([...model.dictionaries.keys()].filter((n) => n !== 'MLDynamicDimension').length, 54);
});

test('extensions are kept', () => {
  const model = read();
  const names = (idl) => model.interfaces.find((i) => i.idl === idl).members.map((m) => m.name);
  assert.ok(names('MLContext').includes('bind'));
  assert.ok(names('MLTensor').includes('resize'));
  assert.deepEqual(names('MLBinding'), ['destroy']);
});

test('overrides apply', () => {
  const model = read();
  assert.deepEqual(model.enums.find((e) => e.idl === 'MLOperandDataType').values.slice(-2),
                   ['int4', 'uint4']);
  assert.match(effectiveIdl(model),
               /sequence<\(\[EnforceRange\] unsigned long or MLDynamicDimension\)> shape/);
});

test('the grammar chooses every field, by its type', () => {
  const model = read();
  const grammar = grammarHeader(model);
  for (const { name, fields } of model.attributeStructs) {
    const from = grammar.indexOf(`void Choose(Source& s, webidl::${name}& a)`);
    const production = grammar.slice(from, grammar.indexOf('\n}', from));
    for (const field of fields) {
      assert.match(production, new RegExp(`s\\.\\w+\\("${field.name}", a\\.`));
    }
  }
  assert.match(grammar, /  s\.Integer\("axis", a\.axis\);/);
  assert.match(grammar,
               /if \(s\.Given\("axes"\)\) s\.IntegerList\("axes", a\.axes\.emplace\(\)\);/);
  const [{ fields }] = model.attributeStructs;
  fields[0].type = { kind: 'foreign' };
  assert.throws(() => grammarHeader(model), { message: /type without a production \(foreign\)/ });
});

test('the effective definition reads back as the same operators', () => {
  const model = read();
  const plain = structuredClone(overrides);
  Object.assign(plain, { enumValues: {}, memberTypes: {}, argumentTypes: {} });
  const again = readModel({ texts: [effectiveIdl(model)], overrides: plain, source: 'test' });
  // All but where a type came from.
  const bare = (operators) => JSON.parse(
    JSON.stringify(operators, (key, value) => (key === 'overridden' ? undefined : value)));
  assert.deepEqual(bare(again.operators), bare(model.operators));
});

test('two runs give the same text', () => {
  assert.equal(operatorsSchema(read()), operatorsSchema(read()));
});

test('unknown types fail', () => {
  refuses(/unknown type \(GPUTexture\)/,
          'partial interface MLContext { undefined importTexture(GPUTexture texture); };');
  refuses(/unknown type \(float16\)/, 'partial dictionary MLEluOptions { float16 beta = 1; };');
  refuses(/unknown type \(GPUDevice\)/, '', (o) => delete o.foreignTypes.GPUDevice);
  refuses(/GPUDevice: unknown treatment \(Later\)/, '',
          (o) => { o.foreignTypes.GPUDevice = 'Later'; });
});

test('unknown syntax fails', () => {
  refuses(/unknown syntax \(callback\)/, 'callback Done = undefined ();');
  refuses(/unknown syntax \(namespace\)/, 'namespace Tools {};');
  refuses(/unknown syntax \(nullable type\)/, 'partial dictionary MLEluOptions { double? beta; };');
  refuses(/unknown syntax \(interface inheritance\)/, 'interface MLOther : MLGraph {};');
  refuses(/unknown syntax \(static operation\)/,
          'partial interface ML { static undefined reset(); };');
  refuses(/unknown syntax \(attribute not readonly\)/,
          'partial interface MLGraph { attribute boolean ready; };');
  refuses(/unknown syntax \(iterable\)/, 'partial interface MLGraph { iterable<double>; };');
  refuses(/unknown syntax \(variadic\)/,
          'partial interface MLContext { undefined run(MLGraph... graphs); };');
  refuses(/unknown syntax \(default of type sequence\)/,
          'partial dictionary MLEluOptions { sequence<unsigned long> list = []; };');
  refuses(/unknown extended attribute \(Clamp\)/,
          'partial dictionary MLEluOptions { [Clamp] unsigned long beta; };');
  refuses(/unknown syntax \(partial interface of something undefined\)/,
          'partial interface MLNothing {};');
});

test('text that is not IDL fails', () => {
  assert.throws(() => read('interface {'), { name: 'WebIDLParseError' });
});

test('a definition given twice fails', () => {
  refuses(/defined twice/, 'interface MLGraph {};');
});

test('an operator that does not follow the pattern fails', () => {
  const operator = (signature) => `partial interface MLGraphBuilder { MLOperand ${signature}; };`;
  refuses(/not an optional dictionary named options/, operator('foo(MLOperand input)'));
  refuses(/unknown syntax \(overload\)/,
          operator('relu(MLOperand other, optional MLOperatorOptions options = {})'));
  refuses(/unknown syntax \(optional argument\)/,
          operator('foo(optional boolean x = true, optional MLOperatorOptions options = {})'));
  const foo = operator('foo(MLOperand input, optional MLOperatorOptions options = {})');
  refuses(/MLOpSupportLimits.foo: missing/, foo);
  const limits = 'partial dictionary MLOpSupportLimits { MLSingleInputSupportLimits foo; };';
  refuses(/operator in no family \(foo\)/, foo + limits);
  assert.equal(read(foo + limits, (o) => o.families.activation.push('foo')).operators.length, 96);
});

test('a limit that is about nothing fails', () => {
  refuses(/neither an operand of gather nor an output/,
          'partial dictionary MLGatherSupportLimits { MLTensorLimits shape; };');
});

test('a dictionary nobody accounts for fails', () => {
  refuses(/MLOther: dictionary with no C\+\+ form/, 'dictionary MLOther { boolean x = true; };');
});

test('overrides that no longer apply fail', () => {
  refuses(/override is no longer needed \(int8\)/, '',
          (o) => o.enumValues.MLOperandDataType.push('int8'));
  refuses(/overridden enum does not exist/, '', (o) => { o.enumValues.MLNothing = ['x']; });
  refuses(/overridden member does not exist/, '',
          (o) => { o.memberTypes['MLOperandDescriptor.size'] = 'double'; });
  refuses(/no such operator \(foo\)/, '', (o) => o.families.pool.push('foo'));
  refuses(/operator in two families \(relu\)/, '', (o) => o.families.pool.push('relu'));
  refuses(/no such dictionary \(MLNothing\)/, '', (o) => { o.handwritten.MLNothing = 'x.h'; });
});

test('an attribute without a form on the wire fails', () => {
  const model = read('partial dictionary MLEluOptions { record<USVString, double> extra; };');
  assert.throws(() => operatorsSchema(model), { message: /without a form on the wire \(record/ });
});

test('long lines are broken, others kept', () => {
  assert.equal(wrapCode('int x;\n'), 'int x;\n');
  const long = `  Call(${'argument, '.repeat(20)}last);`;
  const wrapped = wrapCode(long).split('\n');
  assert.ok(wrapped.length > 1 && wrapped.every((line) => line.length <= 100));
  assert.equal(wrapped.map((line) => line.trim()).join(' '), long.trim());
});

test('--check names stale, missing and extra files', () => {
  const root = mkdtempSync(join(tmpdir(), 'generator_test-'));
  try {
    for (const item of ['generate.mjs', 'generator', 'package.json', 'extensions.idl',
                        'overrides.json']) {
      cpSync(join(webidl, item), join(root, 'webidl', item), { recursive: true });
    }
    symlinkSync(join(webidl, 'node_modules'), join(root, 'webidl/node_modules'));
    const run = (...options) => {
      const { status, stdout } = spawnSync(
        process.execPath, [join(root, 'webidl/generate.mjs'), ...options], { encoding: 'utf8' });
      return { status, stdout };
    };
    assert.match(run('--check').stdout, /missing: webidl\/generated\/types\.h/);
    assert.equal(run().status, 0);
    const fresh = run('--check');
    assert.equal(fresh.status, 0);
    assert.match(fresh.stdout, /95 operators/);
    writeFileSync(join(root, 'ipc/generated/operators.capnp'), 'something else');
    rmSync(join(root, 'webidl/generated/types.cc'));
    writeFileSync(join(root, 'client/generated/left_over.h'), '');
    const { status, stdout } = run('--check');
    assert.equal(status, 1);
    assert.match(stdout, /stale: ipc\/generated\/operators\.capnp/);
    assert.match(stdout, /missing: webidl\/generated\/types\.cc/);
    assert.match(stdout, /extra: client\/generated\/left_over\.h/);
    assert.equal(run('--nonsense').status, 2);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('Node.js gets what the service has, and every dictionary in the order of reading', () => {
  const text = nodeInterfaces(read());
  assert.match(text, /\['resize', \[/);
  assert.equal(text.match(/defineInterface/g).length, 7);
  assert.match(text, /\['binding', idl.interfaceType\('MLBinding'\)\],\n      \], { extension: true }\]/);
  assert.match(text, /\['gemm', idl.wrapped\('MLOperand'\), \['a', 'b', 'c'\], \[/);
  const [, gemm] = /dictionary\('MLGemmOptions', MLOperatorOptions, \[(.*?)\n\]\)/s.exec(text);
  assert.deepEqual(gemm.match(/(?<=\[')\w+/g), ['aTranspose', 'alpha', 'bTranspose', 'beta', 'c']);
});

test('an operator new to the draft is a method in Node.js without a line by hand', () => {
  const change = (o) => o.families.activation.push('swish');
  const more = `partial interface MLGraphBuilder {
    MLOperand swish(MLOperand input, [EnforceRange] unsigned long axis,
        optional MLOperatorOptions options = {});
  };
  partial dictionary MLOpSupportLimits { MLSingleInputSupportLimits swish; };`;
  const model = read(more, change);
  assert.match(nodeInterfaces(model), new RegExp(`\\['swish', idl.wrapped\\('MLOperand'\\), \\['input'\\], \\[
      \\['input', idl.interfaceType\\('MLOperand'\\)\\],
      \\['axis', idl.enforcedUnsignedLong\\],`));
  assert.match(nodeDeclarations(model),
               /swish\(input: MLOperand, axis: number, options\?: MLOperatorOptions\): MLOperand;/);
});

test('a type without a converter is refused', () => {
  const more = 'partial interface MLContext { undefined odd(unsigned long long size); };';
  assert.throws(() => nodeInterfaces(read(more)), { message: /type without a converter \(uint64/ });
});
