// GraphAssembler: collects what a client says of a graph, and validates it whole at build.
#ifndef WEBNND_SERVICE_GRAPH_GRAPH_ASSEMBLER_H_
#define WEBNND_SERVICE_GRAPH_GRAPH_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipc/messages.h"
#include "service/graph/graph.h"

namespace webnnd::service {

// Adding never fails at once: the first error is kept and answered by Finish, so that a client that
// has more messages in flight is not disturbed; what comes after it is dropped. Bounded by
// limits::kOperandsPerGraphMax, limits::kOperatorsPerGraphMax and limits::kGraphHostBytesMax.
class GraphAssembler {
 public:
  void AddInput(ipc::GraphInput input);
  // `buffer` as in GraphConstant, by tiles where CountTiledLoads says so. Its values are left to
  // who has them.
  void AddConstant(uint32_t operand, webidl::OperandDescriptor descriptor, uint32_t buffer);
  void AddOperators(std::vector<webidl::Operator> operators);
  // For errors that are found outside, such as a constant's bad descriptor.
  void Fail(Error error);
  bool failed() const { return error_.has_value(); }
  // What it has collected; 0 once it has failed.
  size_t operator_count() const { return operators_.size(); }
  size_t host_bytes() const { return host_bytes_; }

  // Validates and infers everything that `outputs` reach, in the draft's order of checks, and drops
  // the rest. `inputs` must be exactly the inputs that the outputs reach.
  Result<Graph> Finish(const std::vector<uint32_t>& inputs,
                       const std::vector<ipc::GraphOutput>& outputs) &&;

 private:
  struct PendingInput {
    uint32_t operand;
    std::string name;
    ipc::WireDescriptor descriptor;
  };
  struct PendingConstant {
    uint32_t operand;
    GraphConstant constant;
  };

  // Whether there is room for as many operands, in as much host memory.
  bool Take(size_t operands, size_t bytes);

  std::vector<PendingInput> inputs_;
  std::vector<PendingConstant> constants_;
  std::vector<webidl::Operator> operators_;
  size_t operand_count_ = 0;
  size_t host_bytes_ = 0;
  std::optional<Error> error_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_GRAPH_GRAPH_ASSEMBLER_H_
