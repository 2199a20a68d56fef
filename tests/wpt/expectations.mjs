// Subtests of the public suite that cannot pass on an implementation of today's draft: wrong there,
// or older than the draft. A listed subtest that passes is reported too: its entry has then
// outlived its cause, or the copy of the suite is newer.

/** In place of a subtest's name: the status of the whole file. */
export const HARNESS = '(harness)';

// Why a subtest fails, and the message it fails with; with another one it is not excused.
const SAME_NAME = {
  reason: 'gives two inputs of one builder the same name, which input() refuses ' +
      '(in the draft since July 2024)',
  message: /Unhandled rejection.*TypeError: .*\binput\b/,
};
const VIEW = {
  reason: 'writes a Uint32Array to an int32 tensor, in byob_readtensor before all subtests: a ' +
      'view must match the data type or be of bytes (in the draft since November 2024)',
  message: /TypeError: .*\bview\b.*int32|^$/,
};
const DESTROYED = {
  reason: 'expects InvalidStateError where a tensor is destroyed, or its context is; it is a ' +
      'TypeError in the draft',
  message: /TypeError: the tensor('s context)? is/,
};
const ROUNDING = {
  reason: 'uses the option roundingType: it is called outputShapeRounding since September 2025',
  message: /expected property \d to be \d but got \d/,
};
const SOFTMAX_AXIS = {
  reason: 'calls softmax without an axis: the draft has that overload no longer',
  message: /2 arguments are required|got disallowed value null/,
};
const LIMIT = {
  reason: '(maxTensorByteLength + 1) / 4 is a fraction here, and cut to a size that is allowed',
  message: /Should have rejected|did not throw/,
};

const IN_CONFORMANCE_TESTS = [
  ['byob_readtensor', /^(read|Detaching|\(harness\))/, VIEW],
  ['clamp', 'clamp uint64 1D tensor', {
    reason: 'the suite itself cannot make a BigInt of its 5294967295',
    message: /Cannot convert 5294967295 to a BigInt/,
  }],
  ['pooling', /(tensor|and) options\.roundingType=ceil( and no padding)?$/, ROUNDING],
  ['pooling', 'l2Pool2d float32 4D tensor options.outputSizes ignores options.roundingType=floor', {
    reason: 'its expected values lack the square root',
    message: /expected 8222/,
  }],
  ['softmax', /^softmax float(32|16) 2D (constant )?tensor all (positive|negative)$/, SOFTMAX_AXIS],
  ['tensor', 'create too large tensor byte length that exceeds limit', LIMIT],
  ['tensor', /^read \/ read_after_destroy$|^write \/ destroy$/, DESTROYED],
  ['tensor', 'read / overwrite', VIEW],
];

const UNARY_FILES = ['clamp', 'elementwise-unary', 'elu', 'gelu', 'hardSigmoid', 'hardSwish',
                     'leakyRelu', 'linear', 'relu', 'sigmoid', 'softplus', 'softsign', 'tanh'];

const IN_VALIDATION_TESTS = [
  ...UNARY_FILES.map((file) => [
    file, /Test building the operator with supported data type\.$/, SAME_NAME,
  ]),
  // Of clamp and identity all data types are supported, so that these subtests make no input.
  ...UNARY_FILES.filter((file) => file !== 'clamp').map((file) => [
    file, /^\[(?!identity)\w+\] Throw if the data type is not supported for the operator\.$/,
    SAME_NAME,
  ]),
  ['concat', '[concat] throw if any input is from another builder', SAME_NAME],
  ['prelu', /^\[prelu\] (Test slope's shape|Throw if the (shape|data type) of slope)/, SAME_NAME],
  ['scatterND', '[scatterND] Throw if input is from another builder', SAME_NAME],
  ['clamp', '[clamp] Throw if options.minValue is -Infinity', {
    reason: 'the draft allows an infinite minValue',
    message: /did not throw/,
  }],
  ['convTranspose2d', '[convTranspose2d] Test with padding=1, groups=3.', {
    reason: 'its one input channel cannot be divided into three groups',
    message: /groups \(3\) does not divide/,
  }],
  ['destroyContext', /^Destroyed context can not write tensor\.$|^\(harness\)$/, DESTROYED],
  ['input', '[input] throw if the output tensor byte length exceeds limit', LIMIT],
  ['pad', '[pad] Throw if building pad for scalar input.', {
    reason: 'the draft allows a scalar',
    message: /expected "TypeError" but got "Error"/,
  }],
  ['pooling', 'Test pool2d with strides, padding and roundingType="ceil".', ROUNDING],
  ['softmax', /without axis\.$|Throw if the input is not a non-floating point data|not 2\.$/,
   SOFTMAX_AXIS],
];

function entries(folder, rows) {
  return rows.map(([file, subtests, cause]) =>
    ({file: `${folder}/${file}.https.any.js`, subtests, ...cause}));
}

const IN_IDLHARNESS = {
  file: 'idlharness.https.any.js',
  subtests: /^MLGraphBuilder interface: operation constant\(MLOperand(Descriptor|DataType), /,
  reason: "the draft has constant(tensor) since March 2025, which makes the method's length 1",
  message: /wrong \.length expected 2 but got 1/,
};

/** @type {{file: string, subtests: (string|RegExp), reason: string, message: RegExp}[]} */
export const LISTED = [
  ...entries('conformance_tests', IN_CONFORMANCE_TESTS),
  ...entries('validation_tests', IN_VALIDATION_TESTS),
  IN_IDLHARNESS,
];

/** The entries of LISTED for a subtest: it may be wrong in more than one way. */
export function listed(file, subtest, list = LISTED) {
  const named = ({subtests}) =>
    (subtests instanceof RegExp ? subtests.test(subtest) : subtests === subtest);
  return list.filter((entry) => entry.file === file && named(entry));
}
