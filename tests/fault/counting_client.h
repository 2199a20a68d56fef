// A client that adds one to a counter on the device, over and over, and checks each result.
#ifndef WEBNND_TESTS_FAULT_COUNTING_CLIENT_H_
#define WEBNND_TESTS_FAULT_COUNTING_CLIENT_H_

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <memory>
#include <utility>

#include "client/webnn.h"
#include "tests/fault/daemon_process.h"

namespace webnnd {

class CountingClient {
 public:
  static constexpr uint32_t kElements = 256;

  explicit CountingClient(webnn::Connect connect) : ml_(std::move(connect)) {}

  // A new context, and the counter at zero.
  Result<void> TryOpen() {
    ASSIGN_OR_RETURN(context_, ml_.Wait(ml_.CreateContext()));
    webnn::GraphBuilder builder(context_);
    auto x = builder.Input("x", webnn::OperandDataType::kFloat32, webnn::Shape{kElements}).value();
    auto one = builder.Constant(webnn::OperandDataType::kFloat32, 1.0).value();
    auto y = builder.Add(x, one).value();
    ASSIGN_OR_RETURN(graph_, ml_.Wait(builder.Build({{"y", y}})));
    for (auto& tensor : tensors_) {
      ASSIGN_OR_RETURN(tensor, ml_.Wait(context_->CreateTensor({webnn::OperandDataType::kFloat32,
                                                                {kElements},
                                                                /*readable=*/true,
                                                                /*writable=*/true})));
    }
    steps_ = 0;
    return {};
  }
  void Open() {
    auto opened = TryOpen();
    ASSERT_TRUE(opened.ok()) << opened.error().ToString();
  }

  // Internal when an answer is wrong.
  Result<void> Step() {
    auto& from = tensors_[steps_ % 2];
    auto& to = tensors_[(steps_ + 1) % 2];
    TRY(context_->Dispatch(*graph_, {{"x", from}}, {{"y", to}}));
    ++steps_;
    ASSIGN_OR_RETURN(auto bytes, ml_.Wait(context_->ReadTensor(*to)));
    for (size_t i = 0; i < kElements; ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      if (value != static_cast<float>(steps_)) {
        return InternalError("the counter ({}) is wrong", value);
      }
    }
    return {};
  }

  // One more, without waiting for it.
  void StepBlindly() {
    auto& from = tensors_[steps_ % 2];
    auto& to = tensors_[(steps_ + 1) % 2];
    if (context_->Dispatch(*graph_, {{"x", from}}, {{"y", to}}).ok()) ++steps_;
  }

  // Milliseconds until `lost` completes, watching the descriptor as an embedder does; -1 for never.
  double WaitUntilLost(double limit_ms) {
    double begin = NowMs();
    while (!context_->is_lost()) {
      double left = limit_ms - (NowMs() - begin);
      if (left <= 0) return -1;
      pollfd polled{ml_.event_descriptor(), POLLIN, 0};
      poll(&polled, 1, static_cast<int>(left) + 1);
      ml_.ProcessEvents();
    }
    return NowMs() - begin;
  }

  int steps() const { return steps_; }
  webnn::ML& ml() { return ml_; }
  webnn::Context& context() { return *context_; }
  bool has_context() const { return context_ != nullptr; }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  std::shared_ptr<webnn::Tensor> tensors_[2];
  int steps_ = 0;
};

}  // namespace webnnd

#endif  // WEBNND_TESTS_FAULT_COUNTING_CLIENT_H_
