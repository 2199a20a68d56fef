// Matrices of weights in a graph: products with their rows, and rows by index, whatever the format
// that they are kept in.
#ifndef WEBNND_EXAMPLES_GENERATE_MATRIX_GRAPH_H_
#define WEBNND_EXAMPLES_GENERATE_MATRIX_GRAPH_H_

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/device_weights.h"

namespace webnnd::generate {

// x W^T + bias: [n, columns] to [n, rows of W]. `bias` may be nullptr.
Result<webnn::Operand> Project(webnn::GraphBuilder& builder, const webnn::Operand& x,
                               const DeviceMatrix& weights, const TensorPtr& bias = nullptr);

// The rows that `ids` names, int32 [n]: [n, columns].
Result<webnn::Operand> LookUpRows(webnn::GraphBuilder& builder, const webnn::Operand& ids,
                                  const DeviceMatrix& weights);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_MATRIX_GRAPH_H_
