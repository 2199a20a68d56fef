// Where the tests find models, and small broken ones of their own making.
#ifndef WEBNND_TESTS_EXAMPLES_TEST_MODELS_H_
#define WEBNND_TESTS_EXAMPLES_TEST_MODELS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace webnnd::generate {

// The model that ships with the repository; it is always there.
std::filesystem::path TinyTalesFolder();

// The folder of shared data: $WEBNND_SHARED, else ../shared beside the repository; nullopt where it
// is not there. Tests that need it skip.
std::optional<std::filesystem::path> SharedFolder();

nlohmann::json ReadJson(const std::filesystem::path& path);
std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

// A folder that disappears with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A safetensors file: the header's JSON, preceded by its length, followed by the data.
std::string MakeSafetensors(std::string_view header, std::string_view data);

}  // namespace webnnd::generate

#endif  // WEBNND_TESTS_EXAMPLES_TEST_MODELS_H_
