// What one of Mesa's archives of kernels lacks of another.
#include "service/worker/mesa_archive.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/service/mesa_archive_files.h"

namespace webnnd::service {
namespace {

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// What an archive becomes, or none.
Result<ArchiveText> Add(const ArchiveText& ours, const ArchiveText& theirs) {
  ASSIGN_OR_RETURN(const MesaArchiveAdditions found,
                   FindAdditions(ours.archive.size(), Bytes(ours.index),
                                 {Bytes(theirs.archive), Bytes(theirs.index)}));
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  return ArchiveText{ours.archive + text(found.archive), ours.index + text(found.index)};
}

constexpr size_t kHeadBytes = 16, kKeyBytes = 40, kNumbersBytes = 16;

void Put(std::string& text, size_t at, auto number) {
  ASSERT_LE(at + sizeof number, text.size());
  std::memcpy(&text[at], &number, sizeof number);
}

TEST(MesaArchive, KernelsThatAreNotThere_AreAddedInTheirOrder) {
  const auto sum = Add(MakeArchive({"one", "two"}), MakeArchive({"three", "two", "", "four"}));
  ASSERT_TRUE(sum.ok()) << sum.error().ToString();
  EXPECT_EQ(*sum, MakeArchive({"one", "two", "three", "", "four"}));
}

TEST(MesaArchive, OneThatIsMoreThanAnother_LacksNothingOfIt) {
  const ArchiveText whole = MakeArchive({"one", "two"}), empty = MakeArchive({});
  for (const ArchiveText& other : {empty, MakeArchive({"two"}), whole}) {
    EXPECT_EQ(Add(whole, other).value(), whole);
  }
  EXPECT_EQ(Add(empty, whole).value(), whole);
  EXPECT_EQ(Add(empty, MakeArchive({"one", "two", "one"})).value(), whole);
}

TEST(MesaArchive, CutOff_IsRefused) {
  const ArchiveText ours = MakeArchive({"one"}), theirs = MakeArchive({"two", "three"});
  for (size_t bytes = 0; bytes < theirs.archive.size(); ++bytes) {
    EXPECT_FALSE(Add(ours, {theirs.archive.substr(0, bytes), theirs.index}).ok()) << bytes;
  }
  const size_t entry = kKeyBytes + kNumbersBytes + sizeof(uint64_t);
  for (size_t bytes = 0; bytes < theirs.index.size(); ++bytes) {
    const bool is_whole = bytes >= kHeadBytes && (bytes - kHeadBytes) % entry == 0;
    const std::string cut = theirs.index.substr(0, bytes);
    EXPECT_EQ(Add(ours, {theirs.archive, cut}).ok(), is_whole) << bytes;
    EXPECT_EQ(Add({theirs.archive, cut}, ours).ok(), is_whole) << bytes;
  }
  EXPECT_FALSE(Add({ours.archive.substr(0, kHeadBytes - 1), ours.index}, theirs).ok());
}

TEST(MesaArchive, IndexThatLeadsAstray_IsRefused) {
  const ArchiveText ours = MakeArchive({"one"}), theirs = MakeArchive({"two", "three"});
  const size_t place_at = kHeadBytes + kKeyBytes + kNumbersBytes;
  for (const uint64_t place :
       {uint64_t{0}, uint64_t{kKeyBytes}, uint64_t{kHeadBytes + kKeyBytes - 1},
        uint64_t{kHeadBytes + kKeyBytes + 1}, theirs.archive.size() - kNumbersBytes - 5,
        theirs.archive.size() - kNumbersBytes, theirs.archive.size(), theirs.archive.size() + 1,
        ~uint64_t{0}, ~uint64_t{0} - kNumbersBytes}) {
    ArchiveText astray = theirs;
    Put(astray.index, place_at, place);
    EXPECT_FALSE(Add(ours, astray).ok()) << place;
  }
  // Even one of a kernel that is there.
  ArchiveText astray = theirs;
  Put(astray.index, place_at, uint64_t{0});
  EXPECT_FALSE(Add(theirs, astray).ok());
}

TEST(MesaArchive, SizesThatDoNotFit_AreRefused) {
  const ArchiveText ours = MakeArchive({"one"}), theirs = MakeArchive({"two", "three"});
  for (const uint32_t size : {0u, 7u, 9u, ~0u}) {
    ArchiveText changed = theirs;
    Put(changed.index, kHeadBytes + kKeyBytes, size);
    EXPECT_FALSE(Add(ours, changed).ok()) << size;
    EXPECT_FALSE(Add(changed, ours).ok()) << size;
  }
  const size_t last = theirs.archive.size() - std::strlen("three") - kNumbersBytes;
  for (const uint32_t size : {6u, 0x7fffffffu, ~0u}) {
    ArchiveText changed = theirs;
    Put(changed.archive, last, size);
    EXPECT_FALSE(Add(ours, changed).ok()) << size;
  }
}

TEST(MesaArchive, AnotherFormat_IsRefused) {
  const ArchiveText ours = MakeArchive({"one"});
  ArchiveText theirs = MakeArchive({"two"});
  theirs.index[kHeadBytes - 1] = 7;
  EXPECT_FALSE(Add(ours, theirs).ok());
}

}  // namespace
}  // namespace webnnd::service
