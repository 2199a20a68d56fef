// Many clients of one device at once, as `--isolation shared` has them in one worker: each builds,
// dispatches, reads and leaves, at a moment of its own, while somebody asks for their figures. It
// is there for ThreadSanitizer most of all (preset tsan): whatever threads of a service share, some
// of them share here.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/client_figures.h"
#include "base/trace.h"
#include "base/unique_fd.h"
#include "client/webnn.h"
#include "ipc/channel.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"
#include "tests/support/socket_host.h"

namespace webnnd::service {
namespace {

using webnn::Dimension;
using webnn::DynamicDimension;
using webnn::Future;
using webnn::Graph;
using webnn::Operand;
using webnn::Shape;
using webnn::Tensor;

constexpr auto kFloat = webnn::OperandDataType::kFloat32;
constexpr uint32_t kClients = 6, kLives = 4;
// 8 KiB: more than travels inline, so that constants are uploads that builds wait for.
constexpr uint32_t kElements = 2048;
// Of a cache that grows by one row a dispatch.
constexpr uint32_t kRowsMax = 24, kRowSize = 4;

std::vector<float> Ramp(float first) {
  std::vector<float> values(kElements);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// One connection, on one thread. Those of the same `kind` use the same kernels.
class Client {
 public:
  Client(ipc::InProcessService& service, uint32_t kind)
      : ml_(std::make_unique<webnn::ML>(webnn::Connect::InProcess(service))), kind_(kind) {}

  // Two graphs, of which one is built while the other runs.
  Status Work() {
    ASSIGN_OR_RETURN(context_, ml_->Wait(ml_->CreateContext()));
    ASSIGN_OR_RETURN(auto growing, BuildGrowing());
    ASSIGN_OR_RETURN(auto being_built, BuildStatic());
    TRY(Grow(*growing));
    growing->Destroy();
    ASSIGN_OR_RETURN(graph_, ml_->Wait(being_built));
    ASSIGN_OR_RETURN(x_, MakeTensor({kElements}));
    ASSIGN_OR_RETURN(y_, MakeTensor({kElements}));
    for (uint32_t round = 0; round < 3; ++round) {
      TRY(Dispatch(round));
      ASSIGN_OR_RETURN(auto bytes, ml_->Wait(context_->ReadTensor(*y_)));
      EXPECT_EQ(ToFloats(bytes), Expected(round));
    }
    awaited_ = dispatches_;
    return {};
  }

  // With work in flight, in one of several ways. Every future completes.
  Status Leave(uint32_t way) {
    constexpr uint32_t kRounds = 8;
    for (uint32_t round = 0; round < kRounds; ++round) TRY(Dispatch(round));
    std::vector<Future<std::vector<std::byte>>> reads;
    for (int i = 0; i < 4; ++i) reads.push_back(context_->ReadTensor(*y_));
    ASSIGN_OR_RETURN(auto build, BuildStatic());
    switch (way % 4) {
      case 0:
        // What was called before still happens.
        x_->Destroy();
        graph_->Destroy();
        for (auto& read : reads) {
          ASSIGN_OR_RETURN(auto bytes, ml_->Wait(read));
          EXPECT_EQ(ToFloats(bytes), Expected(kRounds - 1));
        }
        TRY(ml_->Wait(build));
        break;
      case 1:
        y_->Destroy();
        context_->Destroy();
        break;
      case 2:
        x_ = y_ = nullptr;
        graph_ = nullptr;
        context_ = nullptr;
        break;
      default:
        break;  // As a process that dies.
    }
    ml_ = nullptr;
    EXPECT_TRUE(build.ready());
    for (const auto& read : reads) EXPECT_TRUE(read.ready());
    return {};
  }

  // Dispatches so far, and of them those whose results have come.
  uint64_t dispatches() const { return dispatches_; }
  uint64_t awaited() const { return awaited_; }

 private:
  Result<std::shared_ptr<Tensor>> MakeTensor(const std::vector<Dimension>& dimensions) {
    return ml_->Wait(context_->CreateTensor({.data_type = kFloat,
                                             .shape = webidl::Sizes(dimensions),
                                             .readable = true,
                                             .writable = true}));
  }
  static std::vector<float> ToFloats(const std::vector<std::byte>& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  // y = x <op> (first + second), of which the service folds the sum of the constants.
  Result<Future<std::shared_ptr<Graph>>> BuildStatic() {
    const std::vector<float> first = Ramp(1), second(kElements, 2.0f);
    webnn::GraphBuilder builder(context_);
    ASSIGN_OR_RETURN(Operand x, builder.Input("x", kFloat, Shape{kElements}));
    ASSIGN_OR_RETURN(Operand a, builder.Constant(kFloat, Shape{kElements}, Bytes(first)));
    ASSIGN_OR_RETURN(Operand b, builder.Constant(kFloat, Shape{kElements}, Bytes(second)));
    ASSIGN_OR_RETURN(Operand sum, builder.Add(a, b));
    ASSIGN_OR_RETURN(Operand y, kind_ % 3 == 0   ? builder.Sub(x, sum)
                                : kind_ % 3 == 1 ? builder.Mul(x, sum)
                                                 : builder.Max(x, sum));
    return builder.Build({{"y", y}});
  }
  Status Dispatch(uint32_t round) {
    TRY(context_->WriteTensor(*x_, Bytes(Ramp(static_cast<float>(10 * round)))));
    ++dispatches_;
    return context_->Dispatch(*graph_, {{"x", x_}}, {{"y", y_}});
  }
  std::vector<float> Expected(uint32_t round) const {
    std::vector<float> values = Ramp(static_cast<float>(10 * round));
    for (uint32_t i = 0; i < kElements; ++i) {
      const auto sum = static_cast<float>(i + 3);
      values[i] = kind_ % 3 == 0   ? values[i] - sum
                  : kind_ % 3 == 1 ? values[i] * sum
                                   : std::max(values[i], sum);
    }
    return values;
  }

  // A cache that grows by a row, and the sum of its rows.
  Result<std::shared_ptr<Graph>> BuildGrowing() {
    webnn::GraphBuilder builder(context_);
    const std::vector<Dimension> past{DynamicDimension{"past", kRowsMax, 0}, kRowSize};
    ASSIGN_OR_RETURN(Operand cache, builder.Input("past", kFloat, past));
    ASSIGN_OR_RETURN(Operand row, builder.Input("row", kFloat, Shape{1, kRowSize}));
    ASSIGN_OR_RETURN(Operand all, builder.Concat({cache, row}, 0));
    ASSIGN_OR_RETURN(Operand sum, builder.ReduceSum(all, {.axes = std::vector<uint32_t>{0}}));
    return ml_->Wait(builder.Build({{"present", all}, {"sum", sum}}));
  }
  // Until the cache is full, without waiting: the next sizes are planned on another thread.
  Status Grow(Graph& graph) {
    ASSIGN_OR_RETURN(auto cache, MakeTensor({DynamicDimension{"rows", kRowsMax, 0}, kRowSize}));
    ASSIGN_OR_RETURN(auto row, MakeTensor({1u, kRowSize}));
    ASSIGN_OR_RETURN(auto sum, MakeTensor({kRowSize}));
    TRY(cache->Resize({0, kRowSize}));
    const std::vector<float> values(kRowSize, static_cast<float>(kind_ + 1));
    TRY(context_->WriteTensor(*row, Bytes(values)));
    ASSIGN_OR_RETURN(auto binding, context_->Bind(graph, {{"past", cache}, {"row", row}},
                                                  {{"present", cache}, {"sum", sum}}));
    for (uint32_t i = 0; i < kRowsMax; ++i) {
      ++dispatches_;
      TRY(context_->Dispatch(*binding));
    }
    ASSIGN_OR_RETURN(auto bytes, ml_->Wait(context_->ReadTensor(*sum)));
    const auto expected = static_cast<float>(kRowsMax * (kind_ + 1));
    EXPECT_EQ(ToFloats(bytes), std::vector<float>(kRowSize, expected));
    return {};
  }
  static std::span<const std::byte> Bytes(const std::vector<float>& values) {
    return std::as_bytes(std::span(values));
  }

  std::unique_ptr<webnn::ML> ml_;
  const uint32_t kind_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<Tensor> x_, y_;
  uint64_t dispatches_ = 0;
  uint64_t awaited_ = 0;
};

class ManyClients : public ServiceTest {};

TEST_F(ManyClients, AtOnce_GetRightAnswersAndLeaveNothing) {
  UniqueFd trace(memfd_create("trace", MFD_CLOEXEC));
  StartTrace(trace.Duplicate(), 1, "worker");
  SocketHost host(TestDevice());
  std::atomic<uint64_t> dispatches = 0, awaited = 0;
  std::vector<std::thread> clients;
  for (uint32_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      for (uint32_t life = 0; life < kLives; ++life) {
        Client client(host, i + life);
        Status status = client.Work();
        if (status.ok()) status = client.Leave(i + life / 2);
        EXPECT_TRUE(status.ok()) << status.error().ToString();
        dispatches += client.dispatches();
        awaited += client.awaited();
      }
    });
  }
  std::atomic<bool> is_over = false;
  std::thread broker([&] {
    while (!is_over) {
      for (const ClientFigures& figures : host.Figures()) {
        // A difference of two numbers that others count up.
        EXPECT_LE(figures.dispatches_in_flight, kRowsMax + 100);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& client : clients) client.join();
  is_over = true;
  broker.join();
  host.AwaitAll();
  EXPECT_GT(awaited, 0u);
  EXPECT_GE(host.served(), awaited);
  EXPECT_LE(host.served(), dispatches);
  StopTrace();
  EXPECT_GT(lseek(trace.get(), 0, SEEK_END), 0);
}

}  // namespace
}  // namespace webnnd::service
