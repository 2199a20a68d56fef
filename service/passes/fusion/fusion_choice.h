// FusionChoice: which macro operators fusion looks for.
#ifndef WEBNND_SERVICE_PASSES_FUSION_FUSION_CHOICE_H_
#define WEBNND_SERVICE_PASSES_FUSION_FUSION_CHOICE_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/graph/macro.h"

namespace webnnd::service {

class FusionChoice {
 public:
  // All.
  FusionChoice() = default;
  // Those of a list of names, MacroName's and "epilogue", separated by commas; all where it is
  // empty. One behind a minus sign is left out; where there are no others, of all. Validation error
  // for a name that there is not.
  static Result<FusionChoice> Parse(std::string_view names);

  // All names that there are, sorted.
  static std::vector<std::string> Names();

  bool Allows(const Macro& macro) const;

 private:
  std::set<std::string, std::less<>> names_;  // Empty: all.
  std::set<std::string, std::less<>> left_out_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_FUSION_CHOICE_H_
