// Runs the program as a user does: through the sandboxed daemon, against known answers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "tests/examples/test_models.h"
#include "tests/fault/daemon_process.h"
#include "tools/models/random_model.h"

namespace webnnd::generate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;
using Ids = std::vector<int32_t>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Finished {
  int exit_code = -1;
  std::string output;
  std::string errors;

  Json json() const { return Json::parse(output, nullptr, /*allow_exceptions=*/false); }
};

Finished RunGenerate(const Arguments& arguments) {
  const char* programs = std::getenv("WEBNND_BIN");
  CHECK(programs != nullptr);
  std::vector<std::string> command = {std::string(programs) + "/webnn-generate"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);

  TemporaryFolder folder;
  const fs::path output = folder.path() / "output";
  const fs::path errors = folder.path() / "errors";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), flags, 0600);
  pid_t pid = 0;
  CHECK(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  Finished finished;
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  finished.output = ReadFile(output);
  finished.errors = ReadFile(errors);
  return finished;
}

std::string Join(const Ids& ids) {
  std::string text;
  for (int32_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

Arguments TinyTales(Arguments more) {
  Arguments arguments = {"--model", TinyTalesFolder().string(), "--temperature", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json TinyTalesCase(size_t index) {
  return ReadJson(TinyTalesFolder() / "expected.json")["cases"][index];
}

Ids Tail(const Ids& ids, size_t from) {
  return Ids(ids.begin() + static_cast<long>(from), ids.end());
}

// Every case of an expected.json, prompt by prompt.
void ExpectAllCases(const std::string& model, const Json& expected, const Arguments& options = {}) {
  ASSERT_FALSE(expected["cases"].empty());
  for (const Json& c : expected["cases"]) {
    const auto prompt = c["prompt"].get<std::string>();
    const auto prompt_ids = c["prompt_ids"].get<Ids>();
    const auto ids = c["ids"].get<Ids>();
    SCOPED_TRACE(prompt);
    Arguments arguments = {"--model",       model,
                           "--prompt",      prompt,
                           "--tokens",      std::to_string(ids.size() - prompt_ids.size()),
                           "--temperature", "0",
                           "--ignore-eos",  "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Finished run = RunGenerate(arguments);
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    Json json = run.json();
    ASSERT_TRUE(json.is_object()) << run.output;
    EXPECT_EQ(json["prompt_ids"].get<Ids>(), prompt_ids);
    EXPECT_EQ(json["generated_ids"].get<Ids>(), Tail(ids, prompt_ids.size()));
    EXPECT_EQ(json["text"], c["text"]);
    const auto first = c["logits_after_prompt"]["first32"].get<std::vector<double>>();
    const auto logits = json["first_logits"].get<std::vector<double>>();
    ASSERT_EQ(logits.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(logits[i], first[i], 1e-4) << i;
  }
}

// Most tests start a daemon each, as the program does by itself. Those that run it again and again
// share one, whose later workers have the kernels of the first.
class Generate : public testing::Test {
 protected:
  static void SetUpTestSuite() { daemon_ = std::make_unique<DaemonProcess>(); }
  static void TearDownTestSuite() { daemon_.reset(); }

  static Arguments InSharedDaemon(Arguments more = {}) {
    more.insert(more.end(), {"--socket", daemon_->socket()});
    return more;
  }

 private:
  static inline std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(Generate, TinyTales_GivesTheKnownIds) {
  ExpectAllCases(TinyTalesFolder(), ReadJson(TinyTalesFolder() / "expected.json"),
                 InSharedDaemon());
}

TEST_F(Generate, CachesThatGrow_GiveTheKnownIds) {
  ExpectAllCases(TinyTalesFolder(), ReadJson(TinyTalesFolder() / "expected.json"),
                 InSharedDaemon({"--dynamic"}));
}

TEST_F(Generate, Stories260K_GivesTheKnownIds) {
  auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "SKIPPED: ../shared is not there, so stories260K is not tested";
  fs::path folder = *shared / "models/stories260K";
  ExpectAllCases(folder / "stories260K.bin", ReadJson(folder / "expected.json"), InSharedDaemon());
}

// At real size. The weights are made here; the answers are those of others.
TEST_F(Generate, SmolLmShape_GivesTheKnownIds) {
  auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "SKIPPED: ../shared is not there, so SmolLM's shape is not tested";
  Json expected = ReadJson(*shared / "models/smollm-shape/expected.json");
  TemporaryFolder folder;
  ASSERT_TRUE(models::WriteRandomModel(folder.path(), {.config = models::SmolLmShape()}).ok());
  ASSERT_EQ(fs::file_size(folder.path() / "model.safetensors"), expected["file_bytes"]);
  const auto ids = expected["generated_ids"].get<Ids>();
  Finished run = RunGenerate({"--model", folder.path(), "--prompt-ids",
                              Join(expected["prompt_ids"].get<Ids>()), "--tokens",
                              std::to_string(ids.size()), "--ignore-eos", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.json()["generated_ids"].get<Ids>(), ids);
  const auto logits = run.json()["first_logits"].get<std::vector<double>>();
  const auto first = expected["steps"][0]["first16"].get<std::vector<double>>();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(logits[i], first[i], 1e-3) << i;
}

TEST_F(Generate, OneThingTurnedOff_ChangesNoId) {
  Json expected = TinyTalesCase(0);
  const auto prompt_ids = expected["prompt_ids"].get<Ids>();
  Ids wanted = Tail(expected["ids"].get<Ids>(), prompt_ids.size());
  wanted.resize(40);
  for (const Arguments& options :
       {Arguments{"--in-process"}, InSharedDaemon({"--host-kv"}),
        InSharedDaemon({"--no-fusion", "--no-binding-cache"}), InSharedDaemon({"--no-alias"}),
        InSharedDaemon({"--dynamic", "--host-kv"}), InSharedDaemon({"--dynamic", "--no-fusion"}),
        InSharedDaemon({"--dynamic", "--no-binding-cache"}),
        InSharedDaemon({"--dynamic", "--no-alias"})}) {
    SCOPED_TRACE(testing::PrintToString(options));
    Arguments arguments =
        TinyTales({"--prompt-ids", Join(prompt_ids), "--tokens", "40", "--ignore-eos", "--json"});
    arguments.insert(arguments.end(), options.begin(), options.end());
    Finished run = RunGenerate(arguments);
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    EXPECT_EQ(run.json()["generated_ids"].get<Ids>(), wanted);
  }
}

TEST_F(Generate, LongPrompts_ContinueTheSame) {
  const auto ids = TinyTalesCase(3)["ids"].get<Ids>();
  // One row; 64 + 1; 64 + 64 + 16 + a padded rest.
  for (size_t length : {1u, 65u, 150u}) {
    SCOPED_TRACE(length);
    const Ids prompt_ids(ids.begin(), ids.begin() + static_cast<long>(length));
    Finished run = RunGenerate(
        TinyTales({"--prompt-ids", Join(prompt_ids), "--tokens", "30", "--ignore-eos", "--json"}));
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    const auto generated = run.json()["generated_ids"].get<Ids>();
    ASSERT_EQ(generated.size(), 30u);
    // What the model says after a beginning that is shorter than the case's prompt is not known.
    if (length < 11) continue;
    EXPECT_EQ(generated, Ids(ids.begin() + static_cast<long>(length),
                             ids.begin() + static_cast<long>(length) + 30));
  }
}

TEST_F(Generate, WithoutJson_PrintsTheTextAlone) {
  Json expected = TinyTalesCase(0);
  Finished run = RunGenerate(TinyTales({"--prompt", "Once upon a time", "--tokens", "20"}));
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  ASSERT_GT(run.output.size(), 30u);
  EXPECT_EQ(run.output.back(), '\n');
  EXPECT_THAT(expected["text"].get<std::string>(),
              StartsWith(run.output.substr(0, run.output.size() - 1)));
  EXPECT_THAT(run.errors, HasSubstr("loading"));
  EXPECT_THAT(run.errors, HasSubstr("tokens/s"));
}

TEST_F(Generate, Figures_AreMeasured) {
  Finished run = RunGenerate(TinyTales({"--prompt", "Once", "--tokens", "10", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Json json = run.json();
  for (const char* key : {"ttft_ms", "decode_ms_per_token", "tokens_per_second",
                          "kernels_per_token", "socket_bytes_per_token"}) {
    ASSERT_TRUE(json[key].is_number()) << key;
    EXPECT_GT(json[key].get<double>(), 0) << key;
  }
  // The caches and the weights stay on the device.
  EXPECT_LT(json["socket_bytes_per_token"].get<double>(), 16 * 1024);
}

TEST_F(Generate, SameSeed_TellsTheSameStory) {
  auto ids = [] {
    Finished run = RunGenerate({"--model", TinyTalesFolder(), "--prompt", "Once", "--tokens", "30",
                                "--temperature", "1.5", "--seed", "1", "--ignore-eos", "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    return run.json()["generated_ids"].get<Ids>();
  };
  Ids first = ids();
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(ids(), first);
}

TEST_F(Generate, SequenceLimit_StopsWithAMessage) {
  const auto ids = TinyTalesCase(0)["ids"].get<Ids>();
  Finished run = RunGenerate(
      TinyTales({"--prompt-ids", Join(ids), "--tokens", "1000", "--ignore-eos", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Json json = run.json();
  EXPECT_EQ(json["generated_ids"].size(), 512u - ids.size());
  EXPECT_EQ(json["stopped_by"], "sequence limit");
  EXPECT_THAT(run.errors, HasSubstr("the model's longest sequence is reached after (512) tokens"));
}

TEST_F(Generate, BadInput_EndsWithOneClearError) {
  Finished usage = RunGenerate({"--model"});
  EXPECT_EQ(usage.exit_code, 2);
  EXPECT_THAT(usage.errors, HasSubstr("webnn-generate: the option (--model) lacks its value"));

  Finished missing = RunGenerate({"--model", "/no/such/model", "--prompt", "x"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("the model (/no/such/model) does not exist"));
  EXPECT_EQ(missing.output, "");

  Finished outside = RunGenerate(TinyTales({"--prompt-ids", "1,600"}));
  EXPECT_EQ(outside.exit_code, 1);
  EXPECT_THAT(outside.errors, HasSubstr("the prompt id (600) is outside the vocabulary of 512"));

  Finished nobody = RunGenerate(TinyTales({"--prompt", "x", "--socket", "/no/such/socket"}));
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.errors, HasSubstr("/no/such/socket"));
}

}  // namespace
}  // namespace webnnd::generate
