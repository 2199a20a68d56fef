// What the kernel tells of memory that is left.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "service/broker/stats.h"

namespace webnnd::service {
namespace {

TEST(AvailableMemoryBytes, MachineAndControlGroups_TheLeastCounts) {
  const std::string root = testing::TempDir() + "/memory-root";
  auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  std::filesystem::remove_all(root);
  EXPECT_EQ(AvailableMemoryBytes(root), UINT64_MAX);
  write("/proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n");
  write("/proc/self/cgroup", "0::/user.slice/webnnd.service\n");
  EXPECT_EQ(AvailableMemoryBytes(root), 1024000u);
  write("/sys/fs/cgroup/user.slice/webnnd.service/memory.max", "max\n");
  write("/sys/fs/cgroup/user.slice/webnnd.service/memory.current", "5000\n");
  EXPECT_EQ(AvailableMemoryBytes(root), 1024000u);
  write("/sys/fs/cgroup/user.slice/memory.max", "9000\n");
  write("/sys/fs/cgroup/user.slice/memory.current", "8000\n");
  EXPECT_EQ(AvailableMemoryBytes(root), 1000u);
  write("/sys/fs/cgroup/user.slice/memory.current", "9500\n");
  EXPECT_EQ(AvailableMemoryBytes(root), 0u);
  EXPECT_GT(AvailableMemoryBytes(), 0u);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace webnnd::service
