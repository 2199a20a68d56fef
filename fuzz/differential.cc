#include "fuzz/differential.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ipc/codec.h"
#include "webidl/generated/types.h"

namespace webnnd::fuzz {
namespace {

using service::Graph;
using service::kNoValue;
using service::Node;
using service::Value;
using service::ValueId;

// How the two graphs differ; empty where they do not.
class Comparison {
 public:
  Comparison(const Graph& service, const Graph& client) : service_(service), client_(client) {}

  std::string Difference() {
    if (service_.nodes.size() != client_.nodes.size()) {
      return fmt::format("{} operators and {}", service_.nodes.size(), client_.nodes.size());
    }
    for (size_t i = 0; i < service_.nodes.size(); ++i) {
      std::string difference = NodeDifference(service_.nodes[i], client_.nodes[i]);
      if (!difference.empty()) return fmt::format("operator {}: {}", i, difference);
    }
    if (Endpoints(service_, service_.inputs) != Endpoints(client_, client_.inputs)) return "inputs";
    if (Endpoints(service_, service_.outputs) != Endpoints(client_, client_.outputs)) {
      return "outputs";
    }
    return "";
  }

 private:
  using Named = std::map<std::string, std::string>;

  template <class List>
  static Named Endpoints(const Graph& graph, const List& endpoints) {
    Named named;
    for (const auto& endpoint : endpoints) {
      named.emplace(endpoint.name, graph.values[endpoint.value].descriptor.ToString());
    }
    return named;
  }

  // Attributes are compared by their bytes on the wire: a NaN is equal to itself there.
  static std::vector<std::byte> Encoded(const Node& node) {
    webidl::Operator op{node.kind, {}, {}, node.label, node.attributes};
    return ipc::Encode(ipc::AddOperators{{4, 1}, {std::move(op)}}).bytes;
  }

  std::string NodeDifference(const Node& service, const Node& client) {
    if (Encoded(service) != Encoded(client)) return "kind, label or attributes";
    if (service.operands.size() != client.operands.size()) return "number of operands";
    if (service.results.size() != client.results.size()) return "number of results";
    for (size_t i = 0; i < service.operands.size(); ++i) {
      if (!AreSame(service.operands[i], client.operands[i])) return fmt::format("operand {}", i);
    }
    for (size_t i = 0; i < service.results.size(); ++i) {
      if (!HaveOneDescriptor(service.results[i], client.results[i])) {
        return fmt::format("shape of result {}", i);
      }
      client_of_service_.emplace(service.results[i], client.results[i]);
    }
    return "";
  }

  bool HaveOneDescriptor(ValueId service, ValueId client) const {
    return service_.values[service].descriptor == client_.values[client].descriptor;
  }

  // Constants that hold the same are one in the client's graph.
  bool AreSame(ValueId service, ValueId client) const {
    if (service == kNoValue || client == kNoValue) return service == client;
    const Value& a = service_.values[service];
    const Value& b = client_.values[client];
    if (a.kind != b.kind || !HaveOneDescriptor(service, client)) return false;
    if (a.kind == Value::Kind::kInput) {
      return service_.inputs[a.index].name == client_.inputs[b.index].name;
    }
    if (a.kind == Value::Kind::kConstant) return true;
    auto known = client_of_service_.find(service);
    return known != client_of_service_.end() && known->second == client;
  }

  const Graph& service_;
  const Graph& client_;
  std::map<ValueId, ValueId> client_of_service_;
};

[[noreturn]] void Report(const std::string& client, const std::string& service) {
  fmt::print(stderr, "client:  {}\nservice: {}\n", client, service);
  UNREACHABLE();
}

std::string Describe(const Error& error) {
  return fmt::format("{}: {}", CauseName(error.cause()), error.message());
}

// The number of results is bounded on the wire, so that the service cannot see too many: it misses
// those that are not named.
bool HasTooManyResults(const Error& client) {
  return client.message().starts_with("the results (");
}

}  // namespace

Outcome CheckVerdicts(VerdictClient& client, const SentGraph& graph) {
  Result<Graph> service = ServiceVerdict(graph);
  Verdict verdict = client.Build(graph);
  if (verdict.inexpressible) {
    if (service.ok()) Report("the graph cannot be said", "accepts");
    return Outcome::kInexpressible;
  }
  if (verdict.error) {
    if (service.ok()) Report(Describe(*verdict.error), "accepts");
    if (!HasTooManyResults(*verdict.error) &&
        Describe(*verdict.error) != Describe(service.error())) {
      Report(Describe(*verdict.error), Describe(service.error()));
    }
    return Outcome::kRefused;
  }
  if (!service.ok()) Report("accepts", Describe(service.error()));
  std::string difference = Comparison(*service, *verdict.graph).Difference();
  if (!difference.empty()) Report("sends another graph", difference);
  return Outcome::kAccepted;
}

}  // namespace webnnd::fuzz
