// ExpectSnapshot: compares text with a reviewed file beside the tests.
#ifndef WEBNND_TESTS_SNAPSHOT_EXPECT_SNAPSHOT_H_
#define WEBNND_TESTS_SNAPSHOT_EXPECT_SNAPSHOT_H_

#include <string>

namespace webnnd::test {

// Fails the running test where tests/snapshot/<name>.txt is missing or holds another text. A test
// program that is given --update writes the file instead.
void ExpectSnapshot(const std::string& name, const std::string& text);

}  // namespace webnnd::test

#endif  // WEBNND_TESTS_SNAPSHOT_EXPECT_SNAPSHOT_H_
