// What a GPU itself can do, measured in the same run as the rest.
#ifndef WEBNND_TOOLS_BENCHMARKS_GPU_H_
#define WEBNND_TOOLS_BENCHMARKS_GPU_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "service/vulkan/device.h"

namespace webnnd::benchmarks {

class Gpu {
 public:
  // The adapter of this name, or nullptr where it is none of a GPU's.
  static std::unique_ptr<Gpu> Find(const std::string& name);

  // GB/s of reading memory in order, more of it than caches have.
  double StreamBandwidth();
  // Billions of float32 multiply-adds a second.
  double MultiplyAdds();

 private:
  // A kernel of shaders/yardstick.comp, ready to run one dispatch after the other.
  struct Kernel {
    std::vector<std::shared_ptr<service::Binding>> bindings;
    double work = 0;  // Bytes or multiply-adds of all of them.
  };

  explicit Gpu(std::shared_ptr<service::Device> device);
  Kernel MakeKernel(bool reads);
  // Billions a second.
  double RateOf(const Kernel& kernel);

  std::shared_ptr<service::Device> device_;
  std::vector<std::shared_ptr<service::Buffer>> memory_;
  std::shared_ptr<service::Buffer> results_;
  std::unique_ptr<service::Timeline> timeline_;
  Kernel reading_;
  Kernel adding_;
};

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_GPU_H_
