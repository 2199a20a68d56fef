// A small convolutional network, and the face detector, each in one WebNN graph.

import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

import {assertClose, numbersOf, tolerance} from './compare.mjs';
import {countCalls, createOnCpu, createOnWebNN, loadOnnxRuntime} from './environment.mjs';
import {convolutionalNetwork} from './models.mjs';
import {floats, uniform} from './random.mjs';
import {upgradeSlices} from './slice_upgrade.mjs';

const SEED = 20240601;
const FACES = join(dirname(fileURLToPath(import.meta.url)), '../../../shared/models/ultraface');
const PICTURES = ['2', '13'];
// Of scores and of boxes, as fractions of the picture: what the model's own notes suggest.
const FACES_TOLERANCE = 1e-4;

const {ort, counts} = await loadOnnxRuntime();

async function createInOneGraph(model) {
  const {result, calls} = await countCalls(counts, () => createOnWebNN(ort, model));
  assert.equal(result.partitions, 1);
  assert.equal(result.supported, result.nodes);
  assert.deepEqual(calls, {build: 1});
  return result.session;
}

async function runInOneDispatch(session, feeds) {
  const {result, calls} = await countCalls(counts, () => session.run(feeds));
  assert.equal(calls.dispatch, 1);
  return result;
}

test('ConvolutionalNetwork.OneGraph_EqualsTheCpuProvider', async () => {
  const model = convolutionalNetwork(SEED);
  const session = await createInOneGraph(model);
  const cpu = await createOnCpu(ort, model);
  const next = uniform(SEED + 1);
  for (let picture = 0; picture < 3; ++picture) {
    const feeds = {image: new ort.Tensor('float32', floats(next, 3 * 64 * 64), [1, 3, 64, 64])};
    const {probabilities} = await runInOneDispatch(session, feeds);
    const expected = numbersOf((await cpu.run(feeds)).probabilities);
    const bound = tolerance('float32', expected);
    assertClose(numbersOf(probabilities), expected, bound, 'probabilities');
  }
});

const WIDTH = 320;
const HEIGHT = 240;

// The picture as the detector takes it: [1, 3, height, width], (value - 127) / 128.
function readPicture(name) {
  const bytes = readFileSync(join(FACES, `${name}.${WIDTH}x${HEIGHT}.rgb`));
  const pixels = WIDTH * HEIGHT;
  const data = Float32Array.from({length: 3 * pixels}, (_, index) =>
    (bytes[(index % pixels) * 3 + Math.floor(index / pixels)] - 127) / 128);
  return {input: new ort.Tensor('float32', data, [1, 3, HEIGHT, WIDTH])};
}

// The values of a float32 .npy file; the header's length stands in two bytes at 8.
function readNpy(path) {
  const bytes = readFileSync(path);
  const values = Uint8Array.from(bytes.subarray(10 + bytes.readUInt16LE(8)));
  return new Float32Array(values.buffer);
}

async function assertFaces(session, cpu, picture, run) {
  const feeds = readPicture(picture);
  const [actual, onCpu] = [await run(session, feeds), await cpu.run(feeds)];
  for (const output of ['scores', 'boxes']) {
    const reference = readNpy(join(FACES, `version-RFB-320.${picture}.${output}.npy`));
    const {data} = actual[output];
    assertClose(data, onCpu[output].data, FACES_TOLERANCE, `${output}, CPU provider`);
    assertClose(data, reference, FACES_TOLERANCE, `${output}, reference`);
  }
}

const faces = {skip: existsSync(FACES) ? false : `the face detector (${FACES}) is not there`};

test('FaceDetector.OneGraph_FindsTheFaces', faces, async () => {
  const model = upgradeSlices(readFileSync(join(FACES, 'version-RFB-320.onnx')));
  const session = await createInOneGraph(model);
  const cpu = await createOnCpu(ort, model);
  for (const picture of PICTURES) await assertFaces(session, cpu, picture, runInOneDispatch);
});

test('FaceDetector.AsPublished_FindsTheFacesInThreeGraphs', faces, async () => {
  // Its four Slices are of opset 9, which the runtime's WebNN provider leaves to the CPU.
  const model = readFileSync(join(FACES, 'version-RFB-320.onnx'));
  const {session, partitions, nodes, supported} = await createOnWebNN(ort, model);
  assert.deepEqual({partitions, left: nodes - supported}, {partitions: 3, left: 4});
  const cpu = await createOnCpu(ort, model);
  await assertFaces(session, cpu, PICTURES[0], (onWebNN, feeds) => onWebNN.run(feeds));
});
