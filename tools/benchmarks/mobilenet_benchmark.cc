#include "tools/benchmarks/mobilenet_benchmark.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "client/webnn.h"
#include "tools/benchmarks/graph_runner.h"
#include "tools/benchmarks/machine.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/mobilenet.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

constexpr uint32_t kSeed = 1;
constexpr size_t kClasses = 1000;

// The network in a context of its own.
class Classifier {
 public:
  explicit Classifier(const MeasuredService& service)
      : ml_(service.Connect()), context_(Must(ml_.Wait(ml_.CreateContext()))) {
    double begin = Now();
    webnn::GraphBuilder builder(context_);
    const webnn::Shape shape = {1, 3, 224, 224};
    auto image = Must(builder.Input("image", webnn::OperandDataType::kFloat32, shape));
    MobileNet network = Must(AddMobileNetV2(builder, image, kSeed));
    graph_ = Must(ml_.Wait(builder.Build({{"logits", network.logits}})));
    build_seconds_ = Now() - begin;
    multiply_adds_ = network.multiply_adds;
    parameters_ = network.parameters;
    std::mt19937 random(kSeed);
    pixels_ = RandomBytes(image.descriptor(), /*bound=*/0, random);
    image_ = Must(
        ml_.Wait(context_->CreateTensor({webnn::OperandDataType::kFloat32, shape, false, true})));
    logits_ = Must(ml_.Wait(
        context_->CreateTensor({webnn::OperandDataType::kFloat32, {1, kClasses}, true, false})));
  }

  // Seconds from an image in this process to the logits in it.
  double Classify() {
    std::vector<float> logits(kClasses);
    double begin = Now();
    Must(context_->WriteTensor(*image_, pixels_));
    Must(context_->Dispatch(*graph_, {{"image", image_}}, {{"logits", logits_}}));
    Must(ml_.Wait(context_->ReadTensor(*logits_, std::as_writable_bytes(std::span(logits)))));
    double seconds = Now() - begin;
    for (float logit : logits) {
      if (!std::isfinite(logit)) Must(Status(InternalError("a logit ({}) is not finite", logit)));
    }
    return seconds;
  }

  double multiply_adds() const { return multiply_adds_; }
  uint64_t parameters() const { return parameters_; }
  double build_seconds() const { return build_seconds_; }
  uint32_t kernel_count() const { return graph_->kernel_count(); }
  const std::string& device_name() const { return context_->device_name(); }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  std::vector<std::byte> pixels_;
  std::shared_ptr<webnn::Tensor> image_;
  std::shared_ptr<webnn::Tensor> logits_;
  double multiply_adds_ = 0;
  uint64_t parameters_ = 0;
  double build_seconds_ = 0;
};

}  // namespace

Status RunMobileNet(const Options& options) {
  MeasuredService service(options.in_process);
  Classifier classifier(service);
  Machine machine;
  std::vector<double> figures[4];
  classifier.Classify();
  for (int round = 0; round < options.rounds; ++round) {
    double machine_rate = machine.MultiplyAdds();
    double seconds = classifier.Classify();
    double rate = classifier.multiply_adds() * 1e-9 / seconds;
    figures[0].push_back(machine_rate);
    figures[1].push_back(seconds * 1e3);
    figures[2].push_back(rate);
    figures[3].push_back(rate / machine_rate);
  }
  Report report;
  report.AddNote("device", classifier.device_name());
  report.Add("machine: float32 multiply-adds", "G/s", figures[0]);
  report.Add("MobileNetV2, parameters", "millions",
             {static_cast<double>(classifier.parameters()) * 1e-6});
  report.Add("MobileNetV2, multiply-adds", "millions", {classifier.multiply_adds() * 1e-6});
  report.Add("MobileNetV2, kernels", "count", {static_cast<double>(classifier.kernel_count())});
  report.Add("MobileNetV2, weights drawn and graph built", "ms",
             {classifier.build_seconds() * 1e3});
  report.Add("MobileNetV2, image written to logits read", "ms", figures[1]);
  report.Add("MobileNetV2, rate", "G/s", figures[2]);
  report.Add("  of the machine's multiply-adds", "ratio", figures[3]);
  report.Print();
  INVALID_IF(!options.json.empty() && !report.WriteJson(options.json),
             "the file ({}) cannot be written", options.json);
  return {};
}

}  // namespace webnnd::benchmarks
