// The worker's side of a fetch, with a broker of the test's own.
#include "service/worker/kernel_fetch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/service/mesa_archive_files.h"

namespace webnnd::service {
namespace {

class KernelFetchTest : public testing::Test {
 protected:
  KernelFetchTest() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    WriteArchive(directory_, MakeArchive({"own"}));
    int pair[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    broker_.Reset(pair[0]);
    control_ = std::make_shared<ControlLink>(UniqueFd(pair[1]));
    fetch_ = std::make_shared<KernelFetch>(control_);
    control_->TakeImagesWith([weak = std::weak_ptr(fetch_)](uint32_t sequence, UniqueFd image) {
      if (auto held = weak.lock()) held->OnImage(sequence, std::move(image));
    });
  }
  ~KernelFetchTest() override { std::filesystem::remove_all(directory_); }

  void Begin(const KernelHashes& cached = {}) {
    fetch_->Begin(KernelFiles::Open(directory_), cached);
  }
  static HashedKernel Kernel(uint32_t number) {
    return {.kernel = {.shader = number}, .hash = 1000 + number};
  }
  static std::vector<HashedKernel> Kernels(std::initializer_list<uint32_t> numbers) {
    std::vector<HashedKernel> kernels;
    for (uint32_t number : numbers) kernels.push_back(Kernel(number));
    return kernels;
  }

  // What the broker is told next: a kernel's number, or none and a fetch's.
  struct Told {
    std::optional<uint32_t> kernel;
    uint32_t fetch = 0;
    friend bool operator==(const Told&, const Told&) = default;
  };
  std::vector<Told> TakeAll(int wait_ms = 0) {
    std::vector<Told> all;
    for (;;) {
      pollfd wait{broker_.get(), POLLIN, 0};
      if (poll(&wait, 1, wait_ms) <= 0) return all;
      KernelMessage message{};
      const ssize_t got = recv(broker_.get(), &message, sizeof message, 0);
      if (got == sizeof message) {
        EXPECT_EQ(message.header.type, ControlType::kKernel);
        all.push_back({.kernel = message.kernel.shader});
      } else {
        EXPECT_EQ(got, ssize_t{sizeof(ControlMessage)});
        EXPECT_EQ(message.header.type, ControlType::kFetch);
        all.push_back({.fetch = message.header.sequence});
        return all;
      }
    }
  }
  // Of an archive with these kernels, and of what is said to be in it.
  UniqueFd Image(const std::vector<std::string>& archive, std::initializer_list<uint32_t> numbers) {
    return ImageOf(MakeArchive(archive), numbers);
  }
  UniqueFd ImageOf(const ArchiveText& archive, std::initializer_list<uint32_t> numbers) {
    const std::string other = directory_ + "/other";
    WriteArchive(other, archive);
    KernelHashes hashes;
    for (uint32_t number : numbers) hashes.insert(Kernel(number).hash);
    UniqueFd image(memfd_create("image", MFD_CLOEXEC));
    EXPECT_TRUE(KernelFiles::Open(other).Pack(hashes, image.get()).ok());
    std::filesystem::remove_all(other);
    return image;
  }
  void Answer(uint32_t sequence, const UniqueFd& image) {
    const ControlMessage answer{.type = ControlType::kImage, .sequence = sequence};
    if (image.valid()) {
      EXPECT_TRUE(SendWithDescriptor(broker_.get(), answer, image.get(), 0).ok());
    } else {
      EXPECT_EQ(send(broker_.get(), &answer, sizeof answer, 0), ssize_t{sizeof answer});
    }
    EXPECT_TRUE(control_->OnReadable());
  }
  // Whether the worker's files are an archive of these kernels.
  bool Has(const std::vector<std::string>& kernels) const {
    return ReadArchive(directory_) == MakeArchive(kernels);
  }

  // A build that compiles, on a thread of its own.
  class Build {
   public:
    Build(KernelFetchTest& test, std::vector<HashedKernel> kernels)
        : thread_([this, &test, kernels = std::move(kernels)] {
            test.fetch_->BeforeCompiling(kernels, &cancelled_);
            done_ = true;
          }) {}
    ~Build() {
      Cancel();
      thread_.join();
    }
    void Cancel() { cancelled_ = true; }
    bool IsDone(int wait_ms) const {
      for (int i = 0; i < wait_ms && !done_; ++i) usleep(1000);
      return done_;
    }

   private:
    std::atomic<bool> cancelled_ = false;
    std::atomic<bool> done_ = false;
    std::thread thread_;
  };
  static constexpr int kSoonMs = 60;  // It goes on waiting.
  static constexpr int kLongMs = 10000;

  std::string directory_ = "/tmp/webnnd-fetch-XXXXXX";
  UniqueFd broker_;
  std::shared_ptr<ControlLink> control_;
  std::shared_ptr<KernelFetch> fetch_;
};

TEST_F(KernelFetchTest, MissingKernels_AreWaitedForAndAddedToTheFiles) {
  Begin({Kernel(2).hash});
  {
    Build build(*this, Kernels({1, 2, 3}));
    EXPECT_EQ(TakeAll(kLongMs), (std::vector<Told>{{.kernel = 1}, {.kernel = 3}, {.fetch = 1}}));
    EXPECT_FALSE(build.IsDone(kSoonMs));
    Answer(1, Image({"one", "own", "three"}, {1, 2, 3}));
    EXPECT_TRUE(build.IsDone(kLongMs));
  }
  EXPECT_TRUE(Has({"own", "one", "three"}));
  // Nobody hears of them again.
  fetch_->OnCompiled(Kernel(1));
  Build again(*this, Kernels({1, 2, 3}));
  EXPECT_TRUE(again.IsDone(kLongMs));
  EXPECT_TRUE(TakeAll().empty());
}

TEST_F(KernelFetchTest, ThreadThatReadsTheAnswer_DoesNotWaitForIt) {
  Begin();
  EXPECT_TRUE(control_->OnReadable());
  fetch_->BeforeCompiling(Kernels({1, 2}), nullptr);
  EXPECT_TRUE(TakeAll().empty());
}

TEST_F(KernelFetchTest, OneKernel_IsNotWorthAFetch) {
  Begin({Kernel(2).hash});
  fetch_->BeforeCompiling(Kernels({1, 2}), nullptr);
  EXPECT_TRUE(TakeAll().empty());
  fetch_->OnCompiled(Kernel(1));
  fetch_->OnCompiled(Kernel(1));
  EXPECT_EQ(TakeAll(), (std::vector<Told>{{.kernel = 1}}));
}

// What is compiled while the devices are opened is named once it is known what there is.
TEST_F(KernelFetchTest, BeforeItBegins_NobodyWaits) {
  fetch_->BeforeCompiling(Kernels({1, 2}), nullptr);
  fetch_->OnCompiled(Kernel(1));
  fetch_->OnCompiled(Kernel(2));
  EXPECT_TRUE(TakeAll().empty());
  Begin({Kernel(2).hash});
  EXPECT_EQ(TakeAll(), (std::vector<Told>{{.kernel = 1}}));
}

TEST_F(KernelFetchTest, AnswerWithoutThem_LeavesThemToTheWorker) {
  Begin();
  const UniqueFd images[] = {UniqueFd(), Image({"own"}, {}), ImageOf({"another", ""}, {1, 2}),
                             UniqueFd(memfd_create("no image", MFD_CLOEXEC))};
  uint32_t sequence = 0;
  for (const UniqueFd& image : images) {
    const uint32_t first = 10 * ++sequence;
    Build build(*this, Kernels({first, first + 1}));
    EXPECT_EQ(TakeAll(kLongMs).size(), 3u);
    Answer(sequence, image);
    EXPECT_TRUE(build.IsDone(kLongMs));
  }
  EXPECT_TRUE(Has({"own"}));
  // The broker knows them.
  fetch_->OnCompiled(Kernel(10));
  Build again(*this, Kernels({10, 11}));
  EXPECT_TRUE(again.IsDone(kLongMs));
  EXPECT_TRUE(TakeAll().empty());
}

TEST_F(KernelFetchTest, BuildThatIsCancelled_WaitsNoMore) {
  Begin();
  Build build(*this, Kernels({1, 2}));
  EXPECT_EQ(TakeAll(kLongMs).size(), 3u);
  EXPECT_FALSE(build.IsDone(kSoonMs));
  build.Cancel();
  EXPECT_TRUE(build.IsDone(kLongMs));
}

// The second graph names what the first has not, and has the answer to both.
TEST_F(KernelFetchTest, TwoBuilds_WaitForTheLastAnswer) {
  Begin();
  Build first(*this, Kernels({1, 2}));
  EXPECT_EQ(TakeAll(kLongMs).size(), 3u);
  Build second(*this, Kernels({1, 2, 3}));
  EXPECT_EQ(TakeAll(kLongMs), (std::vector<Told>{{.kernel = 3}, {.fetch = 2}}));
  Build third(*this, Kernels({2, 3}));
  EXPECT_FALSE(third.IsDone(kSoonMs));
  EXPECT_TRUE(TakeAll().empty());
  // An answer to none of them.
  Answer(0, UniqueFd());
  EXPECT_FALSE(first.IsDone(kSoonMs));
  Answer(1, Image({"own", "one", "two"}, {1, 2}));
  EXPECT_TRUE(first.IsDone(kLongMs));
  EXPECT_FALSE(second.IsDone(kSoonMs));
  Answer(2, Image({"three", "two", "one"}, {1, 2, 3}));
  EXPECT_TRUE(second.IsDone(kLongMs));
  EXPECT_TRUE(third.IsDone(kLongMs));
  EXPECT_TRUE(Has({"own", "one", "two", "three"}));
}

}  // namespace
}  // namespace webnnd::service
