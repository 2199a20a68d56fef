// The globals that 'webnn-node/global' makes.

import * as webnn from './generated/webnn.mjs';

declare global {
  interface Navigator {
    readonly ml: webnn.ML;
  }
  const ML: typeof webnn.ML;
  type ML = webnn.ML;
  const MLContext: typeof webnn.MLContext;
  type MLContext = webnn.MLContext;
  const MLGraph: typeof webnn.MLGraph;
  type MLGraph = webnn.MLGraph;
  const MLGraphBuilder: typeof webnn.MLGraphBuilder;
  type MLGraphBuilder = webnn.MLGraphBuilder;
  const MLOperand: typeof webnn.MLOperand;
  type MLOperand = webnn.MLOperand;
  const MLTensor: typeof webnn.MLTensor;
  type MLTensor = webnn.MLTensor;
}
