// LinearExpression: a size that depends on the names of dynamic dimensions: "2 * seq + past - 1".
#ifndef WEBNND_WEBIDL_LINEAR_EXPRESSION_H_
#define WEBNND_WEBIDL_LINEAR_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "webidl/dimension.h"

namespace webnnd::webidl {

// The sizes that the names have in one dispatch.
using Assignment = std::map<std::string, uint32_t, std::less<>>;
// "past is 3, seq is 1"
std::string AssignmentToString(const Assignment& assignment);

// Bounds of a name, both included.
struct SizeBounds {
  uint32_t min = 0;
  uint32_t max = 0;
  friend bool operator==(const SizeBounds&, const SizeBounds&) = default;
};
using Symbols = std::map<std::string, SizeBounds, std::less<>>;

// Names carry their bounds, so that an expression can be bounded by itself. Value.
class LinearExpression {
 public:
  struct Term {
    std::string name;
    SizeBounds bounds;
    int64_t coefficient = 0;  // Not 0.
    friend bool operator==(const Term&, const Term&) = default;
  };

  LinearExpression() = default;
  explicit LinearExpression(int64_t constant) : constant_(constant) {}
  // Of the name alone.
  LinearExpression(std::string name, SizeBounds bounds) : terms_{{std::move(name), bounds, 1}} {}

  // What text says, over the names of `symbols`. Validation error where it is none, names another,
  // or has numbers beyond kNumberMax or more than limits::kDynamicNamesMax names.
  static Result<LinearExpression> Parse(std::string_view text, const Symbols& symbols);
  static constexpr int64_t kNumberMax = 1 << 28;  // No sum of products with sizes overflows.

  // Adds coefficient * name; false where it or the sum would be beyond kNumberMax.
  bool Add(const std::string& name, SizeBounds bounds, int64_t coefficient);
  bool AddConstant(int64_t number);

  bool is_constant() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }  // By name.
  int64_t Min() const;
  int64_t Max() const;
  // Every name is in `assignment`.
  int64_t At(const Assignment& assignment) const;
  // Names first: "past + seq", "2 * seq - 1".
  std::string ToString() const;

  friend bool operator==(const LinearExpression&, const LinearExpression&) = default;

 private:
  std::vector<Term> terms_;
  int64_t constant_ = 0;
};

// Whether `text` can be a name: not empty, with none of the characters that expressions are made
// of, and no digit at its beginning.
bool IsDimensionName(std::string_view text);

// The names that the dimensions of a graph's inputs have, with their bounds.
class DimensionNames {
 public:
  // A dimension of an input: the bounds of a name that is new become its bounds.
  Result<LinearExpression> Declare(const DynamicDimension& dimension);
  // Any dimension: over names that have been declared, with the bounds that follow from theirs.
  Result<LinearExpression> Resolve(const DynamicDimension& dimension) const;
  const Symbols& symbols() const { return symbols_; }

 private:
  Symbols symbols_;
};

// Validation error unless the dimension has a name and bounds: unnamed or unbounded ones (draft PR
// 945) are not supported.
Status CheckDynamicDimension(const DynamicDimension& dimension);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_LINEAR_EXPRESSION_H_
