// The implementations behind the interfaces, over the native half. Arguments are converted already;
// names and order of the checks are the draft's. What is checked in C++ (client/) is not here.

import { connection, native, withRoom } from './addon.mjs';
import { bytesOf, implement, viewName } from './webidl.mjs';

// The draft's table of compatible views. Uint8Array fits every type; float16 also comes as its bits
// where there is no Float16Array. Types of 4 bits are packed, the first element in the low half.
const VIEWS = {
  float32: ['Float32Array'],
  float16: ['Float16Array', 'Uint16Array'],
  int32: ['Int32Array'],
  uint32: ['Uint32Array'],
  int64: ['BigInt64Array'],
  uint64: ['BigUint64Array'],
  int8: ['Int8Array'],
  uint8: [],
  int4: ['Int8Array'],
  uint4: [],
};

// The bytes of `source`, or undefined when it is a view that the data type does not take.
function compatibleBytes(source, dataType) {
  const view = viewName(source);
  const fits = view === undefined || view === 'Uint8Array' || VIEWS[dataType].includes(view);
  return fits ? bytesOf(source) : undefined;
}

function incompatible(dataType) {
  return new TypeError(`the buffer's view does not fit the data type (${dataType})`);
}

class MLImplementation {
  async createContext(options) {
    const handle = await withRoom(() => native.createContext(connection(), options));
    return new MLContextImplementation(handle);
  }
}

// Outside of any scope that has the context: the addon keeps this function until the context is lost.
const withMessage = (resolve) => (message) => resolve({ message });

function lostPromise(handle) {
  let resolve;
  const promise = new Promise((given) => { resolve = given; });
  native.onLost(handle, withMessage(resolve));
  return promise;
}

class MLContextImplementation {
  constructor(handle) {
    this.handle = handle;
    this.accelerated = native.isAccelerated(handle);
    this.lost = lostPromise(handle);
  }

  async createTensor(descriptor) {
    const handle = await withRoom(() => native.createTensor(this.handle, descriptor));
    return new MLTensorImplementation(this, handle, { ...descriptor, constant: false });
  }

  async createConstantTensor(descriptor, inputData) {
    const bytes = compatibleBytes(inputData, descriptor.dataType);
    if (bytes === undefined) {
      native.checkContext(this.handle);
      throw incompatible(descriptor.dataType);
    }
    const handle = await native.createConstantTensor(this.handle, descriptor, bytes);
    return new MLTensorImplementation(
      this, handle, { ...descriptor, readable: false, writable: false, constant: true });
  }

  // Returns a promise for the tensor's bytes, or for nothing when they go to `outputData`.
  async readTensor(tensor, outputData) {
    if (outputData === undefined) return native.readTensor(this.handle, tensor.handle);
    // Beyond the draft: ONNX Runtime Web reads into its memory through an Int8Array.
    const bytes = viewName(outputData) === 'Int8Array' ?
      bytesOf(outputData) : compatibleBytes(outputData, tensor.dataType);
    if (bytes === undefined) throw incompatible(tensor.dataType);
    return native.readTensorInto(this.handle, tensor.handle, bytes);
  }

  writeTensor(tensor, inputData) {
    const bytes = compatibleBytes(inputData, tensor.dataType);
    if (bytes === undefined) throw incompatible(tensor.dataType);
    native.writeTensor(this.handle, tensor.handle, bytes);
  }

  // dispatch(graph, inputs, outputs) or, beyond the draft, dispatch(binding).
  dispatch(first, inputs, outputs) {
    if (first instanceof MLBindingImplementation) {
      native.dispatchBinding(this.handle, first.handle);
    } else {
      native.dispatch(this.handle, first.handle, ...namesAndHandles(inputs),
        ...namesAndHandles(outputs));
    }
  }

  bind(graph, inputs, outputs) {
    return new MLBindingImplementation(this, native.bind(
      this.handle, graph.handle, ...namesAndHandles(inputs), ...namesAndHandles(outputs)));
  }

  opSupportLimits() {
    return native.opSupportLimits(this.handle);
  }

  destroy() {
    native.destroyContext(this.handle);
  }
}

function namesAndHandles(entries) {
  return [[...entries.keys()], Array.from(entries.values(), ({ handle }) => handle)];
}

class MLTensorImplementation {
  #shape;

  constructor(context, handle, { dataType, shape, readable, writable, constant }) {
    this.context = context;  // While its tensors are there, a context is.
    this.handle = handle;
    this.dataType = dataType;
    // Of dynamic dimensions the sizes at the moment; dispatches and resize change them.
    if (shape.every((size) => typeof size === 'number')) this.#shape = Object.freeze(shape);
    this.isStatic = this.#shape !== undefined;
    this.readable = readable;
    this.writable = writable;
    this.constant = constant;
  }

  get shape() {
    if (this.isStatic) return this.#shape;
    const shape = native.tensorShape(this.handle);
    if (!this.#shape?.every((size, axis) => size === shape[axis])) {
      this.#shape = Object.freeze(shape);
    }
    return this.#shape;
  }

  resize(shape) {
    native.resizeTensor(this.handle, shape);
  }

  destroy() {
    native.destroyTensor(this.handle);
  }
}

class MLGraphImplementation {
  constructor(context, handle) {
    this.context = context;
    this.handle = handle;
  }

  destroy() {
    native.destroyGraph(this.handle);
  }
}

class MLBindingImplementation {
  constructor(context, handle) {
    this.context = context;
    this.handle = handle;
  }

  destroy() {
    native.destroyBinding(this.handle);
  }
}

class MLOperandImplementation {
  #shape;

  constructor(handle) {
    this.handle = handle;
  }

  get dataType() {
    return native.operandDataType(this.handle);
  }

  get shape() {
    return this.#shape ??= Object.freeze(native.operandShape(this.handle).map(Object.freeze));
  }
}

class MLGraphBuilderImplementation {
  constructor(context) {
    this.context = context;
    this.handle = native.createBuilder(context.handle);
  }

  input(name, descriptor) {
    return new MLOperandImplementation(native.input(this.handle, name, descriptor));
  }

  // constant(tensor), constant(dataType, value) or constant(descriptor, buffer).
  constant(first, second) {
    return new MLOperandImplementation(this.#constant(first, second));
  }

  #constant(first, second) {
    if (first instanceof MLTensorImplementation) {
      return native.tensorConstant(this.handle, first.handle);
    }
    if (typeof first === 'string') return native.scalarConstant(this.handle, first, second);
    const bytes = compatibleBytes(second, first.dataType);
    if (bytes === undefined) {
      native.checkBuilder(this.handle);
      throw incompatible(first.dataType);
    }
    return native.constant(this.handle, first, bytes);
  }

  // One operand, or a list of them for the operators that give a list.
  operator(name, operands, attributes) {
    const handles = native.operator(this.handle, name,
      operands.map((operand) => operand?.handle ?? null), attributes);
    return Array.isArray(handles) ? handles.map((handle) => new MLOperandImplementation(handle))
      : new MLOperandImplementation(handles);
  }

  async build(outputs) {
    const handle = await native.build(this.handle, ...namesAndHandles(outputs));
    return new MLGraphImplementation(this.context, handle);
  }
}

implement({
  ML: MLImplementation,
  MLBinding: MLBindingImplementation,
  MLContext: MLContextImplementation,
  MLGraph: MLGraphImplementation,
  MLGraphBuilder: MLGraphBuilderImplementation,
  MLOperand: MLOperandImplementation,
  MLTensor: MLTensorImplementation,
});

export { MLImplementation };
