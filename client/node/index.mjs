// webnn-node: the interfaces of WebNN, and `ml`, which a browser has as navigator.ml.

import { MLImplementation } from './implementation.mjs';
import { wrap } from './webidl.mjs';

export {
  ML, MLBinding, MLContext, MLGraph, MLGraphBuilder, MLOperand, MLTensor,
} from './generated/interfaces.mjs';

import './generated/interfaces.mjs';

export const ml = wrap('ML', new MLImplementation());
