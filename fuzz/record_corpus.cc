// record_corpus FOLDER: writes FOLDER/decode and FOLDER/frame from the messages that the tests
// send. Inputs that fuzzers found are kept beside them and not touched.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ipc/codec.h"
#include "tests/ipc/sample_messages.h"

namespace webnnd::ipc {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

// All messages, except that operators come alone, one for each type of attributes.
std::vector<std::vector<std::byte>> SampleFrames(bool client) {
  std::vector<std::vector<std::byte>> frames;
  if (!client) {
    for (ServiceMessage& m : SampleServiceMessages()) {
      frames.push_back(Encode(std::move(m)).bytes);
    }
    return frames;
  }
  for (ClientMessage& m : SampleClientMessages()) {
    if (!std::holds_alternative<AddOperators>(m)) frames.push_back(Encode(std::move(m)).bytes);
  }
  std::set<size_t> attributes;
  for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
    webidl::Operator op = MakeOperator(static_cast<webidl::OperatorKind>(kind), Filling::kFull);
    if (!attributes.insert(op.attributes.index()).second) continue;
    frames.push_back(Encode(AddOperators{{4, 1}, {op}}).bytes);
  }
  return frames;
}

// Two digits.
std::string Number(int index) { return std::to_string(100 + index).substr(1); }

void Record(const fs::path& folder, const std::string& name, bool client) {
  fs::create_directories(folder / "decode");
  fs::create_directories(folder / "frame");
  // Ways to cut a stream: single bytes, small chunks with descriptors, large ones.
  const std::vector<std::vector<uint8_t>> cuts = {
      {2, 0x8b, 0x47, 0xdf}, {0, 0x80}, {1, 0x3f, 0xbf}};
  // Short streams: the fuzzer's speed goes with their length.
  constexpr size_t kStreamBytes = 1024;
  std::vector<std::byte> stream;
  int streams = 0;
  auto write_stream = [&] {
    if (stream.empty()) return;
    auto cut = std::as_bytes(std::span(cuts[streams % cuts.size()]));
    stream.insert(stream.begin(), cut.begin(), cut.end());
    Write(folder / "frame" / (name + "_" + Number(streams++)), stream);
    stream.clear();
  };
  int index = 0;
  for (const std::vector<std::byte>& frame : SampleFrames(client)) {
    Write(folder / "decode" / (name + "_" + Number(index++)),
          std::span(frame).subspan(kFrameHeaderBytes));
    if (stream.size() + frame.size() > kStreamBytes) write_stream();
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  write_stream();
}

}  // namespace
}  // namespace webnnd::ipc

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_corpus FOLDER\n");
    return 2;
  }
  webnnd::ipc::Record(argv[1], "client", true);
  webnnd::ipc::Record(argv[1], "service", false);
  return 0;
}
