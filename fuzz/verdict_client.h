// VerdictClient: the real client at the end of a channel where the service's front door is, and no
// device: a graph is decoded, assembled, and answered.
#ifndef WEBNND_FUZZ_VERDICT_CLIENT_H_
#define WEBNND_FUZZ_VERDICT_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "client/webnn.h"
#include "fuzz/sent_graph.h"
#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "service/graph/graph.h"
#include "service/graph/graph_assembler.h"

namespace webnnd::fuzz {

// The service's side of one connection. Everything happens inside Serve.
class VerdictService final : public ipc::InProcessService {
 public:
  Result<std::unique_ptr<ipc::Channel>> Connect() override;

  // Answers messages up to the first that has an answer.
  void Serve();
  // What the last Build came to.
  Result<service::Graph> TakeGraph() { return *std::exchange(graph_, std::nullopt); }

 private:
  ipc::ClientMessage Next();
  bool Take(ipc::CreateContext& message);
  bool Take(ipc::AddInputs& message);
  bool Take(ipc::AddConstant& message);
  bool Take(ipc::AddOperators& message);
  bool Take(ipc::Build& message);
  template <class Other>
  bool Take(Other&) {
    return false;
  }
  void Send(ipc::ServiceMessage message);

  std::unique_ptr<ipc::Channel> channel_;
  std::unique_ptr<ipc::FrameReader> reader_;
  service::GraphAssembler assembler_;
  std::optional<Result<service::Graph>> graph_;
};

// What came of a graph.
struct Verdict {
  // The API cannot say it: an operand before its definition, one defined twice, a wrong number of
  // results. `error` and `graph` are empty then.
  bool inexpressible = false;
  std::optional<Error> error;
  // What the client sent of an accepted graph, as the service has understood it.
  std::optional<service::Graph> graph;
};

class VerdictClient {
 public:
  VerdictClient();
  // Makes the calls of which the graph would come, up to the first that fails.
  Verdict Build(const SentGraph& graph);

 private:
  VerdictService service_;
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
};

// The service's verdict on the graph itself. The inputs are those that the outputs reach.
Result<service::Graph> ServiceVerdict(const SentGraph& graph);

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_VERDICT_CLIENT_H_
