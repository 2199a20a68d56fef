// JSON of model files, whose writers are not trusted.
#ifndef WEBNND_EXAMPLES_GENERATE_JSON_H_
#define WEBNND_EXAMPLES_GENERATE_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace webnnd::generate {

// The object that `text` is. Validation error where it is none, or where values lie deeper than
// those of any model file: messages print them, which recurses. `what` begins the sentence ("the
// header").
Result<nlohmann::json> ParseJsonObject(std::string_view what, std::string_view text);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_JSON_H_
