#include "base/trace.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace webnnd {
namespace {

std::string ContentsOf(int fd) {
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

// All in one: a process has one trace.
TEST(Trace, Events_AreJsonThatNests) {
  { TraceScope before("before it begins"); }
  EXPECT_FALSE(TraceOn());
  UniqueFd file(memfd_create("trace", MFD_CLOEXEC));
  StartTrace(file.Duplicate(), 7, "worker 7");
  ASSERT_TRUE(TraceOn());
  TraceThreadName("test");
  {
    TraceScope outer("outer");
    outer.Add("graph", 3);
    { TraceScope inner("inner"); }
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int j = 0; j < 2000; ++j) TraceScope("of a thread");
      });
    }
    for (std::thread& thread : threads) thread.join();
    TraceScope ended("ended early");
    ended.End();
  }
  const uint64_t id = NewTraceId();
  TraceAsync("dispatch", id, 1'000'000, 3'000'500);
  // Without its end it is a trace too: a viewer adds the bracket.
  FlushTrace();
  EXPECT_TRUE(nlohmann::json::accept(ContentsOf(file.get()) + "]"));
  StopTrace();
  { TraceScope after("after its end"); }
  EXPECT_FALSE(TraceOn());

  const nlohmann::json events = nlohmann::json::parse(ContentsOf(file.get()));
  ASSERT_TRUE(events.is_array());
  size_t of_threads = 0;
  nlohmann::json outer, inner, early;
  for (const nlohmann::json& event : events) {
    EXPECT_EQ(event.at("pid"), 7);
    const std::string name = event.at("name");
    EXPECT_TRUE(name.find("before") == name.npos && name.find("after") == name.npos);
    of_threads += name == "of a thread" ? 1 : 0;
    if (name == "outer") outer = event;
    if (name == "inner") inner = event;
    if (name == "ended early") early = event;
    if (event.at("ph") == "b") {
      EXPECT_EQ(event.at("ts"), 1000.0);
      EXPECT_EQ(event.at("id"), id);
    }
    if (event.at("ph") == "e") {
      EXPECT_EQ(event.at("ts"), 3000.5);
    }
  }
  EXPECT_EQ(of_threads, 8000u);
  EXPECT_EQ(outer.at("args").at("graph"), 3);
  for (const nlohmann::json& child : {inner, early}) {
    EXPECT_EQ(child.at("tid"), outer.at("tid"));
    EXPECT_GE(child.at("ts").get<double>(), outer.at("ts").get<double>());
    EXPECT_LE(child.at("ts").get<double>() + child.at("dur").get<double>(),
              outer.at("ts").get<double>() + outer.at("dur").get<double>() + 0.002);
  }
}

}  // namespace
}  // namespace webnnd
