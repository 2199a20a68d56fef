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

// One run, of a prompt or a step: the logits of its last token, and the cache for the next run.
async function advance(sessions, tokens, position, cache, fetches = undefined) {
  const session = tokens.length > 1 ? sessions.prompt : sessions.step;
  const feeds = {...stepFeeds(tokens, position), ...cache};
  const result = await (fetches ? session.run(feeds, fetches) : session.run(feeds));
  const present = cacheNames('present').map((name) => result[name]);
  return {
    logits: numbersOf(result.logits).subarray(-DECODER.vocabulary),
    cache: Object.fromEntries(cacheNames('past').map((name, index) => [name, present[index]])),
  };
}

function emptyCache(type) {
  return Object.fromEntries(cacheNames('past').map(
      (name) => [name, hostTensor(type, new Float32Array(cacheElements), cacheShape)]));
}

async function createSessions(type, create) {
  return {prompt: await create(decoder(type, PROMPT.length, SEED)),
          step: await create(decoder(type, 1, SEED))};
}

/**
 * A generation on WebNN beside one on the CPU provider: the same logits at each step, of which each
 * makes three writes, one dispatch and one read, and after the first no tensor.
 * @param {function(number): Object} fetchesOf The tensors for a step's outputs, if they are given.
 * @param {function(Object)} release What to do with a cache that was read for the last time.
 */
async function assertSameGeneration(type, device, {fetchesOf, release}) {
  const host = await createSessions(type, (model) => createOnCpu(ort, model));
  let onHost = await advance(host, PROMPT, 0, emptyCache(type));
  let onDevice = await advance(device, PROMPT, 0, emptyCache(type), fetchesOf(0));
  for (let step = 0; step < NEW_TOKENS; ++step) {
    const bound = tolerance(type, onHost.logits);
    assertClose(onDevice.logits, onHost.logits, bound, `logits before step ${step}`);
    const past = onDevice.cache;
    for (const tensor of Object.values(past)) assert.equal(tensor.location, 'ml-tensor');

    // Both go on with the same token, so that a near tie cannot part them.
    const token = onHost.logits.indexOf(Math.max(...onHost.logits));
    const position = PROMPT.length + step;
    onHost = await advance(host, [token], position, onHost.cache);
    const {result, calls} = await countCalls(
        counts, () => advance(device, [token], position, past, fetchesOf(step + 1)));
    // The runtime makes the tensors of the three small inputs once.
    if (step === 0) delete calls.createTensor;
    assert.deepEqual(calls, {dispatch: 1, readTensor: 1, writeTensor: 3});
    release(past);
    onDevice = result;
  }
}

// Tensors for the cache that are made here: one set is read while the other is written.
async function ownFetches(type) {
  const context = await navigator.ml.createContext({deviceType: 'gpu'});
  const descriptor = {dataType: type, shape: cacheShape, readable: true, writable: true};
  const makeSet = async () => Object.fromEntries(await Promise.all(cacheNames('present').map(
      async (name) => [name, ort.Tensor.fromMLTensor(await context.createTensor(descriptor),
                                                     {dataType: type, dims: cacheShape})])));
  const sets = [await makeSet(), await makeSet()];
  return {context, fetchesOf: (step) => ({logits: null, ...sets[step % 2]})};
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

  test(`Generation.CacheLeftOnTheDevice_${type}_EqualsTheCpuProvider`, async () => {
    const preferredOutputLocation =
        Object.fromEntries(cacheNames('present').map((name) => [name, 'ml-tensor']));
    const device = await createSessions(
        type, (model) => createInOneGraph(model, {preferredOutputLocation}));
    const release = (cache) => Object.values(cache).forEach((tensor) => tensor.dispose());
    await assertSameGeneration(type, device, {fetchesOf: () => undefined, release});
  });

  test(`Generation.CacheInTensorsOfOurOwn_${type}_EqualsTheCpuProvider`, async () => {
    const {context, fetchesOf} = await ownFetches(type);
    const executionProviders = [{name: 'webnn', deviceType: 'gpu', context}];
    const device =
        await createSessions(type, (model) => createInOneGraph(model, {executionProviders}));
    await assertSameGeneration(type, device, {fetchesOf, release: () => {}});
  });
}
