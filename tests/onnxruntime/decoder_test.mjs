// A two-layer decoder with 4-bit weights and grouped-query attention, in float32 and float16: one
// WebNN graph, and a KV cache that stays on the device over a whole generation.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {assertClose, numbersOf, tolerance} from './compare.mjs';
import {countCalls, createOnCpu, createOnWebNN, loadOnnxRuntime} from './environment.mjs';
import {DECODER, asTensor, cacheNames, cacheShape, decoder} from './models.mjs';
import {floats, uniform} from './random.mjs';

const SEED = 20240602;
const PROMPT = [17, 3, 42, 8];
const NEW_TOKENS = 20;
const ROW = DECODER.headSize;

const {ort, counts} = await loadOnnxRuntime();

const cacheElements = cacheShape.reduce((a, b) => a * b, 1);

function hostTensor(type, numbers, shape) {
  return new ort.Tensor(type, asTensor(type, shape, numbers).data, shape);
}

// The three small inputs of a run: tokens, their positions, and how many rows precede the last.
function stepFeeds(tokens, position) {
  const count = tokens.length;
  const integers = (values) =>
    new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, count]);
  return {
    input_ids: integers(tokens),
    position_ids: integers(tokens.map((_, index) => position + index)),
    seqlens_k: new ort.Tensor('int32', Int32Array.of(position + count - 1), [1]),
  };
}

function randomCache(type, seed) {
  const next = uniform(seed);
  return Object.fromEntries(cacheNames('past').map(
      (name) => [name, hostTensor(type, floats(next, cacheElements), cacheShape)]));
}

// The cache's rows that hold keys and values; what the others hold is nobody's business.
function validRows(numbers, count) {
  const {kvHeads, capacity} = DECODER;
  return Array.from({length: kvHeads}).flatMap((_, head) =>
    [...numbers.subarray(head * capacity * ROW, (head * capacity + count) * ROW)]);
}

async function createInOneGraph(model, options) {
  const {result, calls} = await countCalls(counts, () => createOnWebNN(ort, model, options));
  assert.equal(result.partitions, 1);
  assert.equal(result.supported, result.nodes);
  assert.deepEqual(calls, {build: 1});
  return result.session;
}

function assertSameStep(type, actual, expected, rows) {
  for (const name of ['logits', ...cacheNames('present')]) {
    const [got, wanted] = [actual[name], expected[name]].map((tensor) =>
      name === 'logits' ? numbersOf(tensor) : validRows(numbersOf(tensor), rows));
    assertClose(got, wanted, tolerance(type, wanted), name);
  }
}

for (const type of ['float32', 'float16']) {
  test(`Decoder.Prompt_${type}_EqualsTheCpuProvider`, async () => {
    const model = decoder(type, PROMPT.length, SEED);
    const session = await createInOneGraph(model);
    const cpu = await createOnCpu(ort, model);
    const feeds = {...stepFeeds(PROMPT, 0), ...randomCache(type, SEED + 1)};
    const {result, calls} = await countCalls(counts, () => session.run(feeds));
    assert.equal(calls.dispatch, 1);
    assertSameStep(type, result, await cpu.run(feeds), PROMPT.length);
  });

  test(`Decoder.Step_${type}_EqualsTheCpuProvider`, async () => {
    const model = decoder(type, 1, SEED);
    const session = await createInOneGraph(model);
    const cpu = await createOnCpu(ort, model);
    for (const position of [0, 5, DECODER.capacity - 1]) {
      const feeds = {...stepFeeds([11], position), ...randomCache(type, SEED + 2)};
      const {result, calls} = await countCalls(counts, () => session.run(feeds));
      assert.equal(calls.dispatch, 1);
      assertSameStep(type, result, await cpu.run(feeds), position + 1);
    }
  });

  test(`Generation.CacheOnTheDevice_${type}_ThreeWritesOneDispatchOneReadAStep`, async () => {
    const onDevice = {preferredOutputLocation: Object.fromEntries(
        cacheNames('present').map((name) => [name, 'ml-tensor']))};
    const [prompt, step] = [decoder(type, PROMPT.length, SEED), decoder(type, 1, SEED)];
    const device = {prompt: await createInOneGraph(prompt, onDevice),
                    step: await createInOneGraph(step, onDevice)};
    const host = {prompt: await createOnCpu(ort, prompt), step: await createOnCpu(ort, step)};

    const advance = async (sessions, tokens, position, cache) => {
      const session = tokens.length > 1 ? sessions.prompt : sessions.step;
      const result = await session.run({...stepFeeds(tokens, position), ...cache});
      const next = Object.fromEntries(cacheNames('past').map(
          (name, index) => [name, result[cacheNames('present')[index]]]));
      return {logits: result.logits, cache: next};
    };
    const empty = () => Object.fromEntries(cacheNames('past').map(
        (name) => [name, hostTensor(type, new Float32Array(cacheElements), cacheShape)]));

    let onHost = await advance(host, PROMPT, 0, empty());
    let onGpu = await advance(device, PROMPT, 0, empty());
    for (let position = PROMPT.length; position < PROMPT.length + NEW_TOKENS; ++position) {
      const expected = numbersOf(onHost.logits).subarray(-DECODER.vocabulary);
      const actual = numbersOf(onGpu.logits).subarray(-DECODER.vocabulary);
      assertClose(actual, expected, tolerance(type, expected), `logits before ${position}`);
      for (const tensor of Object.values(onGpu.cache)) assert.equal(tensor.location, 'ml-tensor');

      // Both go on with the same token, so that a near tie cannot part them.
      const token = expected.indexOf(Math.max(...expected));
      onHost = await advance(host, [token], position, onHost.cache);
      const past = onGpu.cache;
      const {result, calls} =
          await countCalls(counts, () => advance(device, [token], position, past));
      for (const tensor of Object.values(past)) tensor.dispose();
      onGpu = result;
      assert.deepEqual(calls, {dispatch: 1, readTensor: 1, writeTensor: 3});
    }
  });
}
