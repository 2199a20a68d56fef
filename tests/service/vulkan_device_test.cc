#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/vulkan/device_impl.h"
#include "service/vulkan/features.h"
#include "service/vulkan/float_controls.h"
#include "shaders/shader_table.h"
#include "tests/service/vulkan_fixture.h"

namespace webnnd::service {
namespace {

TEST(Adapters, Listed_HaveNamesAndOrder) {
  KeepDriversLoaded();
  auto adapters = ListAdapters({});
  ASSERT_TRUE(adapters.ok()) << adapters.error().ToString();
  for (size_t i = 0; i < adapters->size(); ++i) {
    EXPECT_EQ((*adapters)[i].index, i);
    EXPECT_NE((*adapters)[i].name, "");
  }
}

TEST(Adapters, RequiredFeatureDisabled_IsNamedAsMissing) {
  KeepDriversLoaded();
  DeviceOptions options;
  options.disabled_features = {"subgroup-shuffle", "shaderInt64", "timelineSemaphore"};
  auto adapters = ListAdapters(options);
  ASSERT_TRUE(adapters.ok());
  ASSERT_FALSE(adapters->empty());
  EXPECT_EQ(adapters->front().missing, "lacks timelineSemaphore, shaderInt64, subgroup-shuffle");
  auto device = Device::Open(0, options);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().cause(), Cause::kNotSupported);
}

TEST(Adapters, UnknownFeatureDisabled_IsRefused) {
  KeepDriversLoaded();
  DeviceOptions options;
  options.disabled_features = {"fp17"};
  auto adapters = ListAdapters(options);
  ASSERT_FALSE(adapters.ok());
  EXPECT_EQ(adapters.error().cause(), Cause::kValidation);
}

TEST(Adapters, IndexOutOfRange_IsNotSupported) {
  KeepDriversLoaded();
  auto device = Device::Open(1000, {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().cause(), Cause::kNotSupported);
}

TEST(Features, OptionalOneDisabled_IsNotEnabled) {
  FeatureChain present;
  for (const FeatureRow& row : FeatureTable()) row.field(present) = VK_TRUE;
  auto all = ChooseFeatures(present, {});
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->vulkan12.shaderFloat16);
  EXPECT_EQ(MissingFeatures(*all), "");
  auto without = ChooseFeatures(present, {"fp16"});
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->vulkan12.shaderFloat16);
  EXPECT_EQ(MissingFeatures(*without), "");
}

// What runs on llvmpipe then is what runs on GPUs, but for the driver.
TEST(Variant, CoresDisabled_GivesTheProfileOfGpus) {
  KeepDriversLoaded();
  DeviceOptions options;
  options.disabled_features = {"cores"};
  auto without = Device::Open(FirstUsableAdapter(options), options);
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE((*without)->wide());
  const DeviceProfile& profile = (*without)->impl().profile();
  EXPECT_EQ(profile.variant, shaders::Variant::kStorageReads);
  EXPECT_GT(profile.local_size, profile.subgroup_size);
  EXPECT_FALSE((*without)->impl().pipelines().layouts().has_texels());
  auto with = Device::Open((*without)->adapter().index, {});
  ASSERT_TRUE(with.ok());
  const bool llvmpipe = (*with)->adapter().name.find("llvmpipe") != std::string::npos;
  EXPECT_EQ((*with)->wide(), !llvmpipe);
  EXPECT_EQ((*without)->streamed_stores(), StreamedStores());
  const bool stores_lines = llvmpipe && (*with)->impl().profile().subgroup_size == 16;
  EXPECT_EQ((*with)->streamed_stores(), stores_lines ? FindStreamedStores() : StreamedStores());
  EXPECT_EQ((*with)->impl().profile().variant,
            llvmpipe ? shaders::Variant::kTexelReads : shaders::Variant::kStorageReads);
}

// Whatever number of threads llvmpipe stops at, none has more than a quarter beyond its part.
TEST(Variant, WorkgroupsOfLlvmpipe_AreDealtOutEvenly) {
  EXPECT_EQ(WorkgroupsOfThreads(2), 2u);
  for (uint32_t threads = 1; threads <= 64; ++threads) {
    const uint32_t workgroups = WorkgroupsOfThreads(threads);
    for (const uint32_t most : {16u, 32u}) {
      const uint32_t pool = std::min(threads, most);
      const uint32_t busiest = (workgroups + pool - 1) / pool;
      EXPECT_LE(busiest * pool, 1.25 * workgroups) << threads << " cores, " << pool << " threads";
    }
  }
}

// Whatever their number of lanes (service/vulkan_lanes_*): none idles.
TEST(Variant, WorkgroupsOfLlvmpipe_AreWholeSubgroups) {
  KeepDriversLoaded();
  auto device = Device::Open(FirstUsableAdapter({}), {});
  ASSERT_TRUE(device.ok());
  if ((*device)->adapter().name.find("llvmpipe") == std::string::npos) {
    GTEST_SKIP() << "the device is not llvmpipe";
  }
  const DeviceProfile& profile = (*device)->impl().profile();
  EXPECT_EQ(profile.local_size, profile.subgroup_size);
  if (const char* bits = std::getenv("LP_NATIVE_VECTOR_WIDTH")) {
    EXPECT_EQ(profile.local_size, std::stoul(bits) / 32);
  }
}

// The operations of a module, each with its operands.
std::vector<std::vector<uint32_t>> OperationsOf(std::span<const uint32_t> code) {
  constexpr size_t kHeaderWords = 5;
  std::vector<std::vector<uint32_t>> operations;
  for (size_t at = kHeaderWords; at < code.size(); at += code[at] >> 16) {
    operations.emplace_back(code.begin() + at, code.begin() + at + (code[at] >> 16));
  }
  return operations;
}

TEST(FloatControls, AreToldOfTheEntryPoint) {
  // By the numbers of the SPIR-V specification.
  const std::vector<uint32_t> subnormals = {2 << 16 | 17, 4464};
  const std::vector<uint32_t> specials = {2 << 16 | 17, 4466};
  for (uint32_t i = 0; i < shaders::kShaderCount; ++i) {
    const auto code =
        shaders::Spirv(static_cast<shaders::ShaderId>(i), shaders::Variant::kStorageReads);
    const auto plain = OperationsOf(code);
    auto operations =
        OperationsOf(WithFloatControls(code, {.keeps_subnormals = true, .keeps_specials = true}));
    ASSERT_EQ(operations.size(), plain.size() + 4);
    EXPECT_EQ(operations[0], subnormals);
    EXPECT_EQ(operations[1], specials);
    operations.erase(operations.begin(), operations.begin() + 2);
    const auto entry =
        std::find_if(operations.begin(), operations.end(),
                     [](const auto& operation) { return (operation[0] & 0xffff) == 15; });
    ASSERT_NE(entry, operations.end());
    const uint32_t function = (*entry)[2];
    EXPECT_EQ(entry[1], (std::vector<uint32_t>{4 << 16 | 16, function, 4459, 32}));
    EXPECT_EQ(entry[2], (std::vector<uint32_t>{4 << 16 | 16, function, 4461, 32}));
    operations.erase(entry + 1, entry + 3);
    EXPECT_EQ(operations, plain);
    EXPECT_EQ(OperationsOf(WithFloatControls(code, {.keeps_specials = true})).size(),
              plain.size() + 2);
  }
}

TEST(CompiledKernels, AreToldWithAHashOfTheirOwn) {
  KeepDriversLoaded();
  std::vector<HashedKernel> told;
  std::vector<uint64_t> first;
  DeviceOptions options;
  options.on_compiled = [&](const HashedKernel& kernel) { told.push_back(kernel); };
  const uint32_t adapter = FirstUsableAdapter(options);
  const CompiledKernel kernel{
      .adapter = adapter, .shader = 0, .constant_count = 1, .constants = {1}};
  for (int life = 0; life < 2; ++life) {
    auto device = Device::Open(adapter, options);
    ASSERT_TRUE(device.ok()) << device.error().ToString();
    // Used once more, it is not compiled.
    ASSERT_TRUE((*device)->WarmUp().ok());
    ASSERT_TRUE((*device)->WarmUp().ok());
    ASSERT_TRUE((*device)->Compile(kernel).ok());
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].kernel, (CompiledKernel{.adapter = adapter}));
    EXPECT_EQ(told[1].kernel, kernel);
    EXPECT_NE(told[0].hash, told[1].hash);
    const std::vector<uint64_t> hashes = {told[0].hash, told[1].hash};
    if (life == 1) {
      EXPECT_EQ(hashes, first);
    }
    first = hashes;
    told.clear();
  }
}

// Each that is missing once, under the name and hash by which it is told of afterwards.
TEST(CompiledKernels, AreToldOfBefore) {
  KeepDriversLoaded();
  std::vector<HashedKernel> before, after;
  int steps = 0;
  std::atomic<bool> cancelled = false;
  const std::atomic<bool>* given = nullptr;
  DeviceOptions options;
  options.on_compiled = [&](const HashedKernel& kernel) { after.push_back(kernel); };
  options.after_compiling_step = [&] { ++steps; };
  options.before_compiling = [&](std::span<const HashedKernel> kernels,
                                 const std::atomic<bool>* flag) {
    EXPECT_TRUE(after.empty());
    before.assign(kernels.begin(), kernels.end());
    given = flag;
  };
  auto device = Device::Open(FirstUsableAdapter(options), options);
  ASSERT_TRUE(device.ok()) << device.error().ToString();
  Plan plan;
  // The second is there already, and the third is the first again.
  for (const uint32_t constant : {5u, 6u, 5u, 7u}) {
    plan.calls.push_back({.specialization = {constant}, .label = "test"});
  }
  ASSERT_TRUE(
      (*device)
          ->Compile({.adapter = (*device)->adapter().index, .constant_count = 1, .constants = {6}})
          .ok());
  after.clear();
  ASSERT_TRUE(Executable::Create(*device, Plan{.calls = {plan.calls[1]}}, {}).ok());
  before.clear();
  after.clear();
  steps = 0;
  ASSERT_TRUE(Executable::Create(*device, plan, {}, &cancelled).ok());
  EXPECT_EQ(given, &cancelled);
  EXPECT_EQ(steps, 4) << "two for each";
  ASSERT_EQ(before.size(), 2u);
  ASSERT_EQ(after.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(before[i].kernel, after[i].kernel);
    EXPECT_EQ(before[i].hash, after[i].hash);
  }
  before.clear();
  ASSERT_TRUE(Executable::Create(*device, plan, {}).ok());
  EXPECT_TRUE(before.empty());
}

TEST(CompiledKernels, OfNoShader_AreRefused) {
  KeepDriversLoaded();
  auto device = Device::Open(FirstUsableAdapter({}), {});
  ASSERT_TRUE(device.ok()) << device.error().ToString();
  for (const uint32_t shader : {shaders::kShaderCount, ~0u}) {
    const Status compiled = (*device)->Compile({.shader = shader});
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.error().cause(), Cause::kValidation);
  }
}

// What llvmpipe takes for another kind of view, and compiles again for.
TEST(TexelViews, AnySize_IsOfOneKind) {
  for (uint64_t bytes : {4ull, 16ull, 252ull, 256ull, 1024ull, 65532ull, 65536ull, 128ull << 20}) {
    const uint64_t view = TexelViewBytes(bytes);
    EXPECT_GE(view, bytes);
    EXPECT_LE(view, bytes + 256 + kTexelBytes);
    EXPECT_EQ(view % kTexelBytes, 0u);
    EXPECT_NE(view & 0xff00, 0u) << bytes;
  }
}

// What a module declares must be among what a device that we accept can do.
TEST(Shaders, Capabilities_AreCoveredByRequiredFeatures) {
  const std::set<uint32_t> covered = {
      1,                             // Shader
      11,                            // Int64
      46,                            // SampledBuffer
      61,   65,                      // GroupNonUniform, GroupNonUniformShuffle
      4433, 4434, 4448, 4449, 5345,  // 16- and 8-bit storage, memory model
  };
  for (uint32_t i = 0; i < shaders::kShaderCount * shaders::kVariantCount; ++i) {
    const auto id = static_cast<shaders::ShaderId>(i / shaders::kVariantCount);
    auto words = shaders::Spirv(id, static_cast<shaders::Variant>(i % shaders::kVariantCount));
    ASSERT_GT(words.size(), 5u);
    for (size_t at = 5; at < words.size();) {
      const uint32_t opcode = words[at] & 0xffff;
      if (opcode != 17) break;  // OpCapability comes first.
      EXPECT_TRUE(covered.count(words[at + 1]))
          << shaders::ShaderName(id) << " declares capability " << words[at + 1];
      at += words[at] >> 16;
    }
  }
}

// By the convention of tensor.glsl: parameters, and slots as storage buffers or as texels.
TEST(Shaders, Bindings_AreParametersAndSlots) {
  constexpr uint64_t kSlots = (uint64_t{1} << kBuffersPerCallMax) - 1;
  constexpr uint64_t kStorage = kSlots << 1;
  constexpr uint64_t kTexels = kSlots << (1 + kBuffersPerCallMax);
  for (uint32_t i = 0; i < shaders::kShaderCount; ++i) {
    const auto id = static_cast<shaders::ShaderId>(i);
    const uint64_t storage = shaders::Bindings(id, shaders::Variant::kStorageReads);
    const uint64_t texels = shaders::Bindings(id, shaders::Variant::kTexelReads);
    EXPECT_EQ(storage & ~kStorage, 1u) << shaders::ShaderName(id);
    EXPECT_EQ(texels & ~(kStorage | kTexels), 1u) << shaders::ShaderName(id);
    EXPECT_NE(texels & kStorage, 0u) << shaders::ShaderName(id);
    // llvmpipe alone runs them, and has memory for each workgroup in a slot of its own.
    if (id == shaders::ShaderId::kTurnTallTile || id == shaders::ShaderId::kBlockTallTile) continue;
    // Slots are the same, however they are read, but for those in which workgroups of GPUs leave
    // something for each other.
    const uint64_t read = (texels & kStorage) | ((texels & kTexels) >> kBuffersPerCallMax);
    const bool exchanges = shaders::ShaderName(id).find("TallTile") != std::string_view::npos ||
                           shaders::ShaderName(id).find("ShallowTile") != std::string_view::npos;
    constexpr uint64_t kExchanged = uint64_t{3} << 6;
    EXPECT_EQ(storage & kStorage, exchanges ? read | kExchanged : read) << shaders::ShaderName(id);
  }
}

// What no code can reach is not among them.
TEST(Shaders, Bindings_AreThoseThatAreUsed) {
  const auto of_slot_1 = [](shaders::ShaderId id) {
    constexpr uint64_t kStorageAndTexels = uint64_t{1} << 1 | uint64_t{1}
                                                                  << (1 + kBuffersPerCallMax);
    return shaders::Bindings(id, shaders::Variant::kTexelReads) & kStorageAndTexels;
  };
  EXPECT_EQ(of_slot_1(shaders::ShaderId::kCopyElements), uint64_t{1} << 1);
  EXPECT_EQ(of_slot_1(shaders::ShaderId::kScatterColumns), uint64_t{1} << (1 + kBuffersPerCallMax));
}

class DeviceTest : public VulkanTest {};

TEST_F(DeviceTest, Layouts_AreSharedByShadersOfTheSameBindings) {
  KernelSetLayouts layouts(device_->impl().logical());
  std::map<uint64_t, const KernelSetLayout*> made;
  const shaders::Variant variant = device_->impl().profile().variant;
  for (uint32_t i = 0; i < shaders::kShaderCount; ++i) {
    const auto id = static_cast<shaders::ShaderId>(i);
    auto layout = layouts.Get(id);
    ASSERT_TRUE(layout.ok()) << layout.error().message();
    const uint64_t bindings = shaders::Bindings(id, variant);
    const auto [found, is_new] = made.try_emplace(bindings, *layout);
    EXPECT_EQ(found->second, *layout) << shaders::ShaderName(id);
    EXPECT_EQ((*layout)->Count(VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC) +
                  (*layout)->Count(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) +
                  (*layout)->Count(VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER),
              static_cast<uint32_t>(std::popcount(bindings)));
  }
  EXPECT_GT(made.size(), 1u);
}

TEST_F(DeviceTest, WarmUp_Succeeds) {
  Status warm = device_->WarmUp();
  EXPECT_TRUE(warm.ok()) << warm.error().ToString();
  EXPECT_FALSE(device_->lost());
  EXPECT_GE(device_->max_tensor_bytes(), 1u << 20);
}

// Proves that the other tests would hear of a wrong use.
TEST(Validation, WrongCall_IsCounted) {
  KeepDriversLoaded();
  DeviceOptions options;
  options.validation = true;
  auto device = Device::Open(FirstUsableAdapter(options), options);
  ASSERT_TRUE(device.ok());
  const uint64_t before = Device::ValidationMessageCount();
  // A flag that Vulkan does not have, and that drivers ignore.
  VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  info.flags = 0x40000000;
  UniqueFence fence((*device)->impl().get());
  EXPECT_EQ(vkCreateFence((*device)->impl().get(), &info, nullptr, fence.out()), VK_SUCCESS);
  EXPECT_GT(Device::ValidationMessageCount(), before);
}

// Devices that share one memory, each in what would be a process of its own.
class SharedMemory {
 public:
  static constexpr uint64_t kBytes = 1ull << 30;

  std::shared_ptr<Device> Open() {
    DeviceOptions options;
    options.free_memory = [this] { return Free(); };
    auto device = Device::Open(FirstUsableAdapter(options), options);
    EXPECT_TRUE(device.ok()) << device.error().ToString();
    devices_.push_back(*device);
    return *device;
  }
  // Takes all that the device may have; returns how much that is.
  uint64_t TakeAll(Device& device) {
    uint64_t taken = 0;
    for (;;) {
      auto buffer = device.Allocate(kPiece);
      if (!buffer.ok()) {
        EXPECT_EQ(buffer.error().cause(), Cause::kOutOfMemory);
        return taken;
      }
      buffers_.push_back(std::move(*buffer));
      taken += kPiece;
    }
  }
  void Release() { buffers_.clear(); }

 private:
  static constexpr uint64_t kPiece = 8ull << 20;

  uint64_t Free() const {
    uint64_t used = 0;
    for (const auto& device : devices_) used += device->bytes_in_use();
    return kBytes - used;
  }
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

TEST(MemoryShare, GreedyClients_LeaveRoomForTheNextOne) {
  KeepDriversLoaded();
  SharedMemory memory;
  uint64_t left = SharedMemory::kBytes;
  for (int client = 0; client < 3; ++client) {
    const uint64_t taken = memory.TakeAll(*memory.Open());
    // Three quarters of what it finds, whoever came before.
    EXPECT_GE(taken, left / 2);
    EXPECT_LE(taken, left / 4 * 3);
    left -= taken;
  }
}

TEST(MemoryShare, MemoryGivenBack_CanBeTakenAgain) {
  KeepDriversLoaded();
  SharedMemory memory;
  auto device = memory.Open();
  const uint64_t taken = memory.TakeAll(*device);
  EXPECT_FALSE(device->Allocate(64ull << 20).ok());
  memory.Release();
  EXPECT_EQ(memory.TakeAll(*device), taken);
}

TEST_F(DeviceTest, Allocate_RoundsUpToWordsAndCounts) {
  EXPECT_EQ(device_->bytes_in_use(), 0u);
  {
    auto none = Allocate(0);
    auto odd = Allocate(13);
    EXPECT_EQ(none->bytes(), 4u);
    EXPECT_EQ(odd->bytes(), 16u);
    EXPECT_GT(device_->bytes_in_use(), 0u);
  }
  EXPECT_EQ(device_->bytes_in_use(), 0u);
}

TEST_F(DeviceTest, AllocateTooMuch_IsOutOfMemory) {
  for (uint64_t bytes : {UINT64_MAX, UINT64_MAX / 2, uint64_t{1} << 50}) {
    auto buffer = device_->Allocate(bytes);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().cause(), Cause::kOutOfMemory) << bytes;
  }
  EXPECT_EQ(device_->bytes_in_use(), 0u);
  EXPECT_NE(Allocate(1024), nullptr);
}

TEST_F(DeviceTest, ManySmallBuffers_ShareBlocksWithoutOverlap) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::set<std::pair<VkBuffer, uint64_t>> places;
  std::set<VkBuffer> blocks;
  for (uint32_t i = 0; i < 2000; ++i) {
    buffers.push_back(Allocate(1 + i % 700));
    auto own = device_->impl().Own(buffers.back());
    ASSERT_TRUE(own.ok());
    EXPECT_EQ((*own)->offset() % kBufferAlignment, 0u);
    EXPECT_TRUE(places.emplace((*own)->handle(), (*own)->offset()).second);
    blocks.insert((*own)->handle());
    // Leaves holes that later ones fill.
    if (i % 3 == 2) {
      auto dropped = device_->impl().Own(buffers[i / 2]);
      if (dropped.ok()) places.erase({(*dropped)->handle(), (*dropped)->offset()});
      buffers[i / 2] = buffers.back();
    }
  }
  EXPECT_LE(blocks.size(), 2u);
}

// Whether the mapping that holds `address` is one for which huge pages were asked ("hg" of its
// flags).
bool AsksForHugePages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      inside = begin <= at && at < end;
    }
    if (inside && line.rfind("VmFlags:", 0) == 0) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST_F(DeviceTest, LargeBuffer_HasHugePagesWhereThereAreSuch) {
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "there are none";
  auto large = device_->Allocate(12ull << 20);
  auto small = device_->Allocate(12);
  ASSERT_TRUE(large.ok() && small.ok());
  const std::byte* mapped = static_cast<BufferImpl&>(**large).mapped();
  if (mapped == nullptr) GTEST_SKIP() << "tensors are not mapped";
  EXPECT_TRUE(AsksForHugePages(mapped + (6u << 20)));
  EXPECT_FALSE(AsksForHugePages(static_cast<BufferImpl&>(**small).mapped()));
}

TEST_F(DeviceTest, BufferOutlivesDevice_IsFreedLater) {
  auto buffer = Allocate(100);
  device_.reset();
  EXPECT_EQ(buffer->bytes(), 100u);
  buffer.reset();
}

TEST_F(DeviceTest, SamePipelineFromManyThreads_IsBuiltOnce) {
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<Pipeline>> pipelines(8);
  for (size_t i = 0; i < pipelines.size(); ++i) {
    threads.emplace_back([&, i] {
      // Two different ones, so that builds also run beside each other.
      PipelineKey key{shaders::ShaderId::kUnaryFloat, {26, 0, static_cast<uint32_t>(i % 2)}};
      auto pipeline = device_->impl().pipelines().Get(key, {}, KernelLife::kDevice);
      if (pipeline.ok()) pipelines[i] = *pipeline;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < pipelines.size(); ++i) {
    ASSERT_NE(pipelines[i], nullptr);
    EXPECT_EQ(pipelines[i], pipelines[i % 2]);
  }
  EXPECT_NE(pipelines[0], pipelines[1]);
}

TEST_F(DeviceTest, IdleEvaluationKernels_AreDroppedBySecondCall) {
  PipelineCache& pipelines = device_->impl().pipelines();
  // Whether the kernel had to be compiled.
  auto get = [&](uint32_t index, KernelLife life) {
    const uint64_t before = pipelines.compiled_count();
    EXPECT_TRUE(pipelines.Get({shaders::ShaderId::kFillWords, {index}}, {}, life).ok());
    return pipelines.compiled_count() != before;
  };
  EXPECT_TRUE(get(0, KernelLife::kEvaluation));
  EXPECT_TRUE(get(1, KernelLife::kDevice));
  EXPECT_TRUE(get(2, KernelLife::kDevice));
  EXPECT_TRUE(get(3, KernelLife::kEvaluation));
  EXPECT_FALSE(get(2, KernelLife::kEvaluation));
  EXPECT_FALSE(get(3, KernelLife::kDevice));
  auto held = pipelines.Get({shaders::ShaderId::kFillWords, {4}}, {}, KernelLife::kEvaluation);
  ASSERT_TRUE(held.ok());
  // Whoever evaluates as often as it drops keeps what it evaluates with.
  for (int i = 0; i < 3; ++i) {
    device_->DropIdleEvaluationKernels();
    EXPECT_FALSE(get(0, KernelLife::kEvaluation)) << i;
  }
  device_->DropIdleEvaluationKernels();
  device_->DropIdleEvaluationKernels();
  for (uint32_t index : {1u, 2u, 3u, 4u}) {
    EXPECT_FALSE(get(index, KernelLife::kEvaluation)) << index;
  }
  EXPECT_TRUE(get(0, KernelLife::kEvaluation));
}

TEST_F(DeviceTest, IdleEvaluationKernels_ThatAreFound_AreDroppedNoSooner) {
  PipelineCache& pipelines = device_->impl().pipelines();
  const auto key = [](uint32_t index) {
    return PipelineKey{shaders::ShaderId::kFillWords, {index}};
  };
  EXPECT_EQ(pipelines.Find(key(0), KernelLife::kEvaluation), nullptr);
  EXPECT_TRUE(pipelines.Get(key(0), {}, KernelLife::kEvaluation).ok());
  EXPECT_TRUE(pipelines.Get(key(1), {}, KernelLife::kEvaluation).ok());
  EXPECT_NE(pipelines.Find(key(1), KernelLife::kDevice), nullptr);
  for (int i = 0; i < 3; ++i) {
    device_->DropIdleEvaluationKernels();
    EXPECT_NE(pipelines.Find(key(0), KernelLife::kEvaluation), nullptr) << i;
  }
  device_->DropIdleEvaluationKernels();
  device_->DropIdleEvaluationKernels();
  EXPECT_EQ(pipelines.Find(key(0), KernelLife::kEvaluation), nullptr);
  EXPECT_NE(pipelines.Find(key(1), KernelLife::kEvaluation), nullptr);
}

}  // namespace
}  // namespace webnnd::service
