// CaseMaker: what the families make random calls with. RandomCase: such a call.
#ifndef WEBNND_TESTS_REFERENCE_CASE_MAKER_H_
#define WEBNND_TESTS_REFERENCE_CASE_MAKER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "tests/reference/reference.h"
#include "webidl/generated/types.h"
#include "webidl/operator_table.h"

namespace webnnd::reference {

struct RandomCase {
  webidl::OperatorKind kind;
  std::vector<std::optional<Array>> operands;
  webidl::OperatorAttributes attributes;

  std::string Describe() const;
};

// Every case is valid: inference must take it.
RandomCase MakeRandomCase(webidl::OperatorKind kind, std::mt19937_64& random);

// A random array of the domain's values.
Array MakeRandomArray(webidl::OperandDataType type, const webidl::Shape& shape, Domain domain,
                      std::mt19937_64& random);

class CaseMaker {
 public:
  CaseMaker(webidl::OperatorKind kind, std::mt19937_64& random);
  RandomCase Take() { return std::move(made_); }

  webidl::OperatorKind kind() const { return made_.kind; }
  template <class Attributes>
  Attributes& attributes() {
    return std::get<Attributes>(made_.attributes);
  }

  // --- Chances ----------------------------------------------------------------------------------

  uint32_t Between(uint32_t least, uint32_t greatest) {
    return least + static_cast<uint32_t>(random_() % (greatest - least + 1));
  }
  bool Flip() { return OneIn(2); }
  bool OneIn(uint32_t chances) { return random_() % chances == 0; }
  // Of an enum of `count` values.
  template <class Enum>
  Enum Pick(uint32_t count) {
    return static_cast<Enum>(Between(0, count - 1));
  }
  // Sets an optional attribute; leaves it out at times where it has its default.
  template <class T>
  void Set(std::optional<T>& attribute, T value, const T& fallback) {
    if (value == fallback && Flip()) return;
    attribute = std::move(value);
  }

  // --- Data types and shapes --------------------------------------------------------------------

  // One that the operator's row allows in the slot; float32 more often.
  webidl::OperandDataType PickType(size_t slot);
  webidl::OperandDataType PickFrom(webidl::DataTypeSet types);
  // At most 600 elements, at times some thousands.
  webidl::Shape MakeShape(uint32_t rank_min, uint32_t rank_max);
  // The ranks that the operator's row allows in the slot.
  webidl::Shape MakeShapeOf(size_t slot);
  // A shape that broadcasts to `shape`.
  webidl::Shape MakeBroadcastable(const webidl::Shape& shape);
  // Any of the dimensions of a shape of that rank, each once, in any order.
  std::vector<uint32_t> PickAxes(size_t rank);
  uint32_t PickAxis(const webidl::Shape& shape) {
    return Between(0, static_cast<uint32_t>(shape.size()) - 1);
  }

  // --- Operands, in the order of slots ----------------------------------------------------------

  // Of the row's domain where none is given.
  Array& Add(webidl::OperandDataType type, const webidl::Shape& shape,
             std::optional<Domain> domain = std::nullopt);
  void AddAbsent() { made_.operands.push_back(std::nullopt); }
  // At times an absent one.
  void AddOptional(webidl::OperandDataType type, const webidl::Shape& shape,
                   std::optional<Domain> domain = std::nullopt);
  // Indices into dimensions of size `size_of(element)`; some negative, some out of range.
  void AddIndices(const webidl::Shape& shape, const std::function<uint32_t(uint64_t)>& size_of);
  const Array& operand(size_t slot) const { return *made_.operands[slot]; }

 private:
  long double MakeIndex(webidl::OperandDataType type, uint32_t size);

  std::mt19937_64& random_;
  Domain domain_;
  RandomCase made_;
};

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_CASE_MAKER_H_
