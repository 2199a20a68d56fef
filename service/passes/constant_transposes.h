// ConstantTransposes: constants in another order, by the kernel of transpose.
#ifndef WEBNND_SERVICE_PASSES_CONSTANT_TRANSPOSES_H_
#define WEBNND_SERVICE_PASSES_CONSTANT_TRANSPOSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "service/passes/compile.h"

namespace webnnd::service {

// Draws them first, and runs all of them at once.
class ConstantTransposes {
 public:
  // The new constants become `graph`'s.
  explicit ConstantTransposes(Graph& graph) : graph_(graph) { drawn_.device = graph.device; }

  // The constant that comes of `source`, read as `shape`, by `permutation` as transpose has it, and
  // cast to the data type of `result`; it is called that, which has as many elements. Its buffer is
  // known after Evaluate.
  Result<ValueId> Add(const GraphConstant& source, const webidl::Shape& shape,
                      std::vector<uint32_t> permutation, webidl::OperandDescriptor result);
  // Consumes what was drawn. Errors are those of the evaluator.
  Status Evaluate(ConstantEvaluator& evaluator);

 private:
  Graph& graph_;
  Graph drawn_;                    // A transpose for each of `constants_`.
  std::vector<size_t> constants_;  // Of graph_.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_CONSTANT_TRANSPOSES_H_
