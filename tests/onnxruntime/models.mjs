// The models of these tests, with random weights: a small convolutional network, and a decoder of
// the shape that language models have in ONNX Runtime Web (4-bit weights, static KV cache).

import {toFloat16} from './float16.mjs';
import {Model, real} from './onnx_writer.mjs';
import {bytes, floats, uniform} from './random.mjs';

const CONTRIB = 'com.microsoft';
const BLOCK_SIZE = 32;
const BITS = 4;
const EPSILON = 1e-5;
const ROTARY_BASE = 10000;

/** Numbers as an array of a float type: `{type, shape, data}`. */
export function asTensor(type, shape, numbers) {
  const data =
      type === 'float16' ? Uint16Array.from(numbers, toFloat16) : Float32Array.from(numbers);
  return {type, shape, data};
}

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** Float32 pictures [1, 3, 64, 64] to the probabilities [1, 10] of classes. */
export function convolutionalNetwork(seed) {
  const next = uniform(seed);
  const model = new Model();
  const weight = (name, shape, bound) => model.constant(
      name, asTensor('float32', shape, floats(next, product(shape), -bound, bound)));
  const positive = (name, shape) =>
      model.constant(name, asTensor('float32', shape, floats(next, product(shape), 0.5, 1.5)));

  let convolutions = 0;
  const conv = (input, [outputs, inputs, size], {stride = 1, group = 1} = {}) => {
    const index = convolutions++;
    const bound = Math.sqrt(3 / (inputs * size * size));
    return model.node('Conv',
        [input, weight(`w${index}`, [outputs, inputs, size, size], bound),
         weight(`b${index}`, [outputs], 0.1)],
        {attributes: {kernel_shape: [size, size], strides: [stride, stride], group,
                      pads: new Array(4).fill(size >> 1)}});
  };

  model.input('image', {type: 'float32', shape: [1, 3, 64, 64]});
  const stem = model.node('Relu', [model.node('BatchNormalization',
      [conv('image', [16, 3, 3], {stride: 2}), positive('bn_scale', [16]),
       weight('bn_bias', [16], 0.1), weight('bn_mean', [16], 0.1), positive('bn_variance', [16])],
      {attributes: {epsilon: real(EPSILON)}})]);
  const depthwise = model.node('Clip', [conv(stem, [16, 1, 3], {group: 16}),
      model.constant('zero', asTensor('float32', [], [0])),
      model.constant('six', asTensor('float32', [], [6]))]);
  const pointwise = conv(depthwise, [16, 16, 1]);
  const residual = model.node('Add', [pointwise, stem]);
  const pooled = model.node('MaxPool', [residual],
                            {attributes: {kernel_shape: [2, 2], strides: [2, 2]}});
  const gate = model.node('Sigmoid',
      [conv(model.node('GlobalAveragePool', [pooled]), [16, 16, 1])]);
  const features = model.node('LeakyRelu', [conv(model.node('Mul', [pooled, gate]), [32, 16, 3])],
                              {attributes: {alpha: real(0.1)}});
  const flat = model.node('Flatten', [model.node('GlobalAveragePool', [features])],
                          {attributes: {axis: 1}});
  const scores = model.node('Gemm', [flat, weight('wc', [10, 32], 0.5), weight('bc', [10], 0.5)],
                            {attributes: {transB: 1}});
  model.node('Softmax', [scores], {attributes: {axis: -1}, outputs: ['probabilities']});
  model.output('probabilities', {type: 'float32', shape: [1, 10]});
  return model.encode();
}

/** The decoder's sizes. `capacity` is the number of rows of its KV cache. */
export const DECODER = {
  layers: 2, hidden: 64, heads: 4, kvHeads: 2, headSize: 16, intermediate: 96, vocabulary: 96,
  capacity: 32,
};

/** Names of the cache's tensors: `past` ones are inputs, `present` ones outputs. */
export const cacheNames = (when) => Array.from({length: DECODER.layers}).flatMap(
    (_, layer) => [`${when}.${layer}.key`, `${when}.${layer}.value`]);

export const cacheShape = [1, DECODER.kvHeads, DECODER.capacity, DECODER.headSize];

class DecoderWriter {
  constructor(type, tokens, seed) {
    this.type = type;
    this.tokens = tokens;
    this.next = uniform(seed);
    this.model = new Model();
  }

  floats(name, shape, low, high) {
    return this.model.constant(
        name, asTensor(this.type, shape, floats(this.next, product(shape), low, high)));
  }

  // [.., inputs] times 4-bit weights [inputs, outputs].
  project(name, input, inputs, outputs) {
    const blocks = Math.ceil(inputs / BLOCK_SIZE);
    const blob = BLOCK_SIZE * BITS / 8;
    const weights = {type: 'uint8', shape: [outputs, blocks, blob],
                     data: bytes(this.next, outputs * blocks * blob)};
    // A weight is up to 8 scales from zero.
    const scale = Math.sqrt(3 / inputs) / 8;
    return this.model.node('MatMulNBits',
        [input, this.model.constant(`${name}.weight`, weights),
         this.floats(`${name}.scales`, [outputs * blocks], scale / 2, scale)],
        {domain: CONTRIB, attributes: {K: inputs, N: outputs, bits: BITS, block_size: BLOCK_SIZE}});
  }

  normalize(name, input) {
    return this.model.node('SimplifiedLayerNormalization',
        [input, this.floats(name, [DECODER.hidden], 0.5, 1.5)],
        {attributes: {axis: -1, epsilon: real(EPSILON), stash_type: 1}});
  }

  rotaryTables() {
    const half = DECODER.headSize / 2;
    const angles = Array.from({length: DECODER.capacity * half}, (_, index) =>
      Math.floor(index / half) * ROTARY_BASE ** (-(index % half) / half));
    for (const [name, wave] of [['cos', Math.cos], ['sin', Math.sin]]) {
      this.model.constant(name, asTensor(this.type, [DECODER.capacity, half], angles.map(wave)));
    }
  }

  rotate(input) {
    return this.model.node('RotaryEmbedding', [input, 'position_ids', 'cos', 'sin'],
                           {domain: CONTRIB, attributes: {interleaved: 0}});
  }

  attention(layer, input) {
    const {hidden, heads, kvHeads, headSize} = DECODER;
    const [query, key, value] = [['q', heads], ['k', kvHeads], ['v', kvHeads]].map(
        ([name, count]) => this.project(`${layer}.${name}`, input, hidden, count * headSize));
    const output = `${layer}.attention`;
    this.model.node('GroupQueryAttention',
        [this.rotate(query), this.rotate(key), value, `past.${layer}.key`, `past.${layer}.value`,
         'seqlens_k', 'total_sequence_length'],
        {domain: CONTRIB, outputs: [output, `present.${layer}.key`, `present.${layer}.value`],
         attributes: {num_heads: heads, kv_num_heads: kvHeads}});
    return this.project(`${layer}.o`, output, heads * headSize, hidden);
  }

  feedForward(layer, input) {
    const {hidden, intermediate} = DECODER;
    const gate = this.project(`${layer}.gate`, input, hidden, intermediate);
    const up = this.project(`${layer}.up`, input, hidden, intermediate);
    const silu = this.model.node('Mul', [gate, this.model.node('Sigmoid', [gate])]);
    return this.project(`${layer}.down`, this.model.node('Mul', [silu, up]), intermediate, hidden);
  }

  inputs() {
    this.model.input('input_ids', {type: 'int64', shape: [1, this.tokens]});
    this.model.input('position_ids', {type: 'int64', shape: [1, this.tokens]});
    this.model.input('seqlens_k', {type: 'int32', shape: [1]});
    for (const name of cacheNames('past')) {
      this.model.input(name, {type: this.type, shape: cacheShape});
    }
    // Tells WebNN's provider a prompt, whose rows start the cache, from a step that appends one.
    const total = this.tokens === 1 ? DECODER.capacity : this.tokens;
    this.model.constant('total_sequence_length',
                        {type: 'int32', shape: [], data: Int32Array.of(total)});
  }

  write() {
    const {layers, hidden, vocabulary} = DECODER;
    this.inputs();
    this.rotaryTables();
    const embedding = this.floats('embedding', [vocabulary, hidden], -1, 1);
    let state = this.model.node('Gather', [embedding, 'input_ids']);
    for (let layer = 0; layer < layers; ++layer) {
      const attended = this.attention(layer, this.normalize(`${layer}.norm1`, state));
      state = this.model.node('Add', [state, attended]);
      const fed = this.feedForward(layer, this.normalize(`${layer}.norm2`, state));
      state = this.model.node('Add', [state, fed]);
    }
    const logits = this.project('head', this.normalize('norm', state), hidden, vocabulary);
    this.model.node('Identity', [logits], {outputs: ['logits']});
    this.model.output('logits', {type: this.type, shape: [1, this.tokens, vocabulary]});
    for (const name of cacheNames('present')) {
      this.model.output(name, {type: this.type, shape: cacheShape});
    }
    return this.model.encode();
  }
}

/**
 * A decoder for `tokens` tokens a run: with several they are a prompt, written from the cache's
 * first row; with one it is written at row `seqlens_k`. The same seed gives the same weights for
 * both.
 * @param {'float32'|'float16'} type
 */
export function decoder(type, tokens, seed) {
  return new DecoderWriter(type, tokens, seed).write();
}
