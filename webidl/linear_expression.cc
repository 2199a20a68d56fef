#include "webidl/linear_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "webidl/checks.h"

namespace webnnd::webidl {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameCharacter(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '+' && c != '-' && c != '*' && c != '\x7f';
}

// expression := ['-'] product (('+' | '-') product)*
// product := number ['*' name] | name
class Parser {
 public:
  Parser(std::string_view text, const Symbols& symbols) : text_(text), symbols_(symbols) {}

  Result<LinearExpression> Run() {
    LinearExpression expression;
    int64_t sign = Take('-') ? -1 : 1;
    while (true) {
      TRY(AddProduct(sign, expression));
      SkipSpaces();
      if (at_ == text_.size()) return expression;
      if (Take('+')) {
        sign = 1;
      } else if (Take('-')) {
        sign = -1;
      } else {
        return Bad();
      }
    }
  }

 private:
  Error Bad() const {
    return ValidationError("the name of a dimension ({}) is neither a name nor a linear expression",
                           DisplayText(text_));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Take(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status AddProduct(int64_t sign, LinearExpression& expression) {
    SkipSpaces();
    int64_t number = sign;
    if (at_ < text_.size() && IsDigit(text_[at_])) {
      ASSIGN_OR_RETURN(number, TakeNumber());
      number *= sign;
      if (!Take('*')) return expression.AddConstant(number) ? Status() : Status(Bad());
      SkipSpaces();
    }
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameCharacter(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (!IsDimensionName(name)) return Bad();
    const auto known = symbols_.find(name);
    INVALID_CHECK(17, known == symbols_.end(),
                  "the dimension ({}) names a dimension ({}) that no input has", DisplayText(text_),
                  DisplayText(name));
    if (!expression.Add(known->first, known->second, number)) return Bad();
    return {};
  }

  Result<int64_t> TakeNumber() {
    int64_t number = 0;
    for (; at_ < text_.size() && IsDigit(text_[at_]); ++at_) {
      number = 10 * number + (text_[at_] - '0');
      if (number > LinearExpression::kNumberMax) return Bad();
    }
    return number;
  }

  std::string_view text_;
  const Symbols& symbols_;
  size_t at_ = 0;
};

}  // namespace

std::string AssignmentToString(const Assignment& assignment) {
  std::string text;
  for (const auto& [name, size] : assignment) {
    text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", DisplayText(name), size);
  }
  return text;
}

Result<LinearExpression> LinearExpression::Parse(std::string_view text, const Symbols& symbols) {
  return Parser(text, symbols).Run();
}

bool LinearExpression::Add(const std::string& name, SizeBounds bounds, int64_t coefficient) {
  auto at = std::lower_bound(terms_.begin(), terms_.end(), name,
                             [](const Term& term, const auto& key) { return term.name < key; });
  const bool is_new = at == terms_.end() || at->name != name;
  const int64_t sum = (is_new ? 0 : at->coefficient) + coefficient;
  if (std::max(sum, -sum) > kNumberMax) return false;
  if (!is_new && sum == 0) {
    terms_.erase(at);
  } else if (!is_new) {
    at->coefficient = sum;
  } else if (sum != 0) {
    if (terms_.size() >= limits::kDynamicNamesMax) return false;
    terms_.insert(at, {name, bounds, sum});
  }
  return true;
}

bool LinearExpression::AddConstant(int64_t number) {
  constant_ += number;
  return std::max(constant_, -constant_) <= kNumberMax;
}

int64_t LinearExpression::Min() const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    sum += term.coefficient * (term.coefficient > 0 ? term.bounds.min : term.bounds.max);
  }
  return sum;
}

int64_t LinearExpression::Max() const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    sum += term.coefficient * (term.coefficient > 0 ? term.bounds.max : term.bounds.min);
  }
  return sum;
}

int64_t LinearExpression::At(const Assignment& assignment) const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    const auto size = assignment.find(term.name);
    CHECK(size != assignment.end());
    sum += term.coefficient * size->second;
  }
  return sum;
}

std::string LinearExpression::ToString() const {
  std::string text;
  const auto join = [&text](int64_t number) {
    if (!text.empty()) {
      text += number < 0 ? " - " : " + ";
    } else if (number < 0) {
      text += "-";
    }
    return std::max(number, -number);
  };
  for (const Term& term : terms_) {
    const int64_t times = join(term.coefficient);
    text += times == 1 ? term.name : fmt::format("{} * {}", times, term.name);
  }
  if (constant_ != 0 || text.empty()) text += std::to_string(join(constant_));
  return text;
}

bool IsDimensionName(std::string_view text) {
  return !text.empty() && !IsDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

Status CheckDynamicDimension(const DynamicDimension& dimension) {
  INVALID_CHECK(7, dimension.name.empty(), "a dynamic dimension (of at most {}) has no name",
                dimension.max_size);
  const std::string name = DisplayText(dimension.name);
  INVALID_CHECK(8, dimension.max_size == 0 || dimension.max_size > limits::kDimensionMax,
                "the maxSize ({}) of the dimension ({}) is not in the range of sizes (1 to {})",
                dimension.max_size, name, limits::kDimensionMax);
  INVALID_CHECK(9, dimension.min_size > dimension.max_size,
                "the minSize ({}) of the dimension ({}) is greater than its maxSize ({})",
                dimension.min_size, name, dimension.max_size);
  return {};
}

Result<LinearExpression> DimensionNames::Declare(const DynamicDimension& dimension) {
  TRY(CheckDynamicDimension(dimension));
  if (IsDimensionName(dimension.name) && !symbols_.contains(dimension.name)) {
    if (symbols_.size() >= limits::kDynamicNamesMax) {
      return QuotaError("the graph has more dynamic dimensions than the limit ({})",
                        limits::kDynamicNamesMax);
    }
    symbols_[dimension.name] = {dimension.min_size, dimension.max_size};
  }
  return Resolve(dimension);
}

Result<LinearExpression> DimensionNames::Resolve(const DynamicDimension& dimension) const {
  TRY(CheckDynamicDimension(dimension));
  ASSIGN_OR_RETURN(LinearExpression expression, LinearExpression::Parse(dimension.name, symbols_));
  INVALID_CHECK(10,
                expression.Min() != dimension.min_size || expression.Max() != dimension.max_size,
                "the dimension ({}) is given as {} to {}, where elsewhere it is {} to {}",
                DisplayText(dimension.name), dimension.min_size, dimension.max_size,
                expression.Min(), expression.Max());
  return expression;
}

}  // namespace webnnd::webidl
