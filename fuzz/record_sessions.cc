// record_sessions FOLDER: writes short honest sessions of every kind into FOLDER: seeds of the
// session fuzzer. What fuzzers found is not touched.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/session_mutator.h"
#include "fuzz/session_sequence.h"

int main(int argc, char** argv) {
  using webnnd::fuzz::SessionMutator;
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_sessions FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  constexpr uint32_t kSeedsPerKind = 3;
  for (uint32_t i = 0; i < SessionMutator::kEpisodeKinds * kSeedsPerKind; ++i) {
    const uint32_t kind = i % SessionMutator::kEpisodeKinds;
    const std::vector<std::byte> bytes =
        WriteSequence(SessionMutator((i + 1) * 2654435761u).MakeSession(kind));
    std::ofstream stream(
        std::filesystem::path(argv[1]) / ("seed_" + std::to_string(100 + i).substr(1)),
        std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    if (!stream.good()) return 1;
  }
  return 0;
}
