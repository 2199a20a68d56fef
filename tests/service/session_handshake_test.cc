// What a session refuses before it has a client: greetings and frames.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "base/limits.h"
#include "tests/service/session_fixture.h"

namespace webnnd::service {
namespace {

using SessionHandshakeTest = SessionTest;

// Starts a session with this Hello and expects it to end for `reason`.
class HelloTest : public SessionTest {
 protected:
  void ExpectRefused(ipc::Hello hello, const std::string& reason) {
    auto stranger = Stranger();
    stranger->Send(std::move(hello));
    ExpectEnds(*stranger, reason);
  }
};

UniqueFd MemoryFile(uint64_t bytes) {
  UniqueFd fd(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

TEST_F(SessionHandshakeTest, FirstMessageOtherThanHello_Ends) {
  auto stranger = Stranger();
  stranger->Send(ipc::CreateContext{.context = {1, 1}});
  ExpectEnds(*stranger, "the first message, and no other, is Hello");
}

TEST_F(SessionHandshakeTest, SecondHello_Ends) {
  peer().Send(ipc::RawClient::MakeHello());
  ExpectEnds(peer(), "the first message, and no other, is Hello");
}

TEST_F(HelloTest, SchemaOfAnotherBuild_Ends) {
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.schema_hash[5] ^= std::byte{1};
  ExpectRefused(std::move(hello), "different builds");
}

TEST_F(HelloTest, ArenaThatIsNotSealed_Ends) {
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.up_arena = MemoryFile(hello.up_bytes);
  ExpectRefused(std::move(hello), "seal");
  hello = ipc::RawClient::MakeHello();
  hello.down_arena = MemoryFile(hello.down_bytes);
  ASSERT_EQ(fcntl(hello.down_arena.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  ExpectRefused(std::move(hello), "seal");
}

TEST_F(HelloTest, ArenaSmallerThanSaid_Ends) {
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.up_bytes *= 2;
  ExpectRefused(std::move(hello), "");
}

TEST_F(HelloTest, ArenaSizeOutOfRange_Ends) {
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.up_bytes = limits::kArenaBytesMax + 1;
  ExpectRefused(std::move(hello), "outside the limits");
  hello = ipc::RawClient::MakeHello();
  hello.down_bytes = limits::kArenaBytesMin - 1;
  ExpectRefused(std::move(hello), "outside the limits");
}

TEST_F(HelloTest, ArenaThatIsADirectory_Ends) {
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.up_arena = UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ExpectRefused(std::move(hello), "");
}

TEST_F(HelloTest, ArenaThatIsAPipe_Ends) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd write_end(ends[1]);
  ipc::Hello hello = ipc::RawClient::MakeHello();
  hello.down_arena = UniqueFd(ends[0]);
  ExpectRefused(std::move(hello), "");
}

// --- Frames -------------------------------------------------------------------------------------

class FrameTest : public SessionTest {
 protected:
  void SendWords(Peer& peer, const std::vector<uint32_t>& words) {
    peer.client().SendBytes(std::as_bytes(std::span(words)));
  }
};

TEST_F(FrameTest, MoreThanOneSegment_Ends) {
  SendWords(peer(), {1, 1, 1, 0});
  ExpectEnds(peer(), "segment");
}

TEST_F(FrameTest, LongerThanTheLimit_Ends) {
  SendWords(peer(), {0, limits::kFrameBytesMax / 8});
  ExpectEnds(peer(), "");
  auto stranger = Stranger();
  SendWords(*stranger, {0, 0xffffffff});
  ExpectEnds(*stranger, "");
}

TEST_F(FrameTest, Empty_Ends) {
  SendWords(peer(), {0, 0});
  ExpectEnds(peer(), "");
}

TEST_F(FrameTest, Truncated_EndsWithoutDisturbingOthers) {
  SendWords(peer(), {0, 100, 1, 2, 3});
  peer().client().Close();
}

TEST_F(FrameTest, Random_Ends) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Peer other(host());
    other.client().Greet();
    std::vector<uint32_t> words = {0, static_cast<uint32_t>(1 + random() % 64)};
    while (words.size() < 2 + 2 * words[1]) words.push_back(static_cast<uint32_t>(random()));
    SendWords(other, words);
    ExpectEnds(other, "");
  }
}

TEST_F(FrameTest, ClientThatVanishes_LeavesNothing) {
  auto stranger = Stranger();
  stranger->client().Close();
  for (int i = 0; i < 8; ++i) {
    Peer other(host());
    other.Open();
    Handle tensor = other.MakeTensor(1 << 16);
    other.Send(ipc::ReadTensor{tensor, 1, ipc::InlineDestination{}});
    other.Send(ipc::CreateTensor{other.context(), other.NewHandle(), ipc::Floats(1 << 18)});
  }
}

}  // namespace
}  // namespace webnnd::service
