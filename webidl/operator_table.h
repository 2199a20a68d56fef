// What each operator means: the data types and ranks it allows, and the function that validates its
// arguments and computes its results. One row per operator; the client runs it so that builder
// methods fail synchronously, the service runs it again and is the authority.
#ifndef WEBNND_WEBIDL_OPERATOR_TABLE_H_
#define WEBNND_WEBIDL_OPERATOR_TABLE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/generated/signatures.h"
#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::webidl {

// A set of data types, one bit each.
class DataTypeSet {
 public:
  constexpr DataTypeSet() = default;
  constexpr DataTypeSet(std::initializer_list<OperandDataType> types) {
    for (OperandDataType type : types) bits_ |= 1u << static_cast<uint32_t>(type);
  }
  constexpr bool Contains(OperandDataType type) const {
    return (bits_ >> static_cast<uint32_t>(type)) & 1u;
  }
  constexpr DataTypeSet operator|(DataTypeSet other) const {
    DataTypeSet out;
    out.bits_ = bits_ | other.bits_;
    return out;
  }
  std::string ToString() const;  // "float32, float16"
  friend constexpr bool operator==(DataTypeSet, DataTypeSet) = default;

 private:
  uint32_t bits_ = 0;
};

// The draft's tensor limits of one operand slot, or of the outputs: the types and ranks that it
// allows, and those of them that it requires of every implementation.
struct TensorConstraint {
  DataTypeSet types;
  uint32_t rank_min = 0;
  uint32_t rank_max = 0;
  DataTypeSet required_types;
  uint32_t required_rank_min = 0;
  uint32_t required_rank_max = 0;

  // The same with fewer required types, or other required ranks.
  constexpr TensorConstraint Requiring(DataTypeSet required) const {
    TensorConstraint out = *this;
    out.required_types = required;
    return out;
  }
  constexpr TensorConstraint RequiringRanks(uint32_t min, uint32_t max) const {
    TensorConstraint out = *this;
    out.required_rank_min = min;
    out.required_rank_max = max;
    return out;
  }
  // What is required, as all that is allowed.
  constexpr TensorConstraint Required() const {
    return {required_types, required_rank_min, required_rank_max,
            required_types, required_rank_min, required_rank_max};
  }
};

// Which of its limits an operator is held to: all that webnnd can do, or only what the draft
// requires of every implementation, so that nothing can be learnt about this one.
enum class LimitSet : uint8_t { kAllowed, kRequired };

// What an infer function sees. Slots follow the signature (generated/signatures.h): required
// operands, then optional ones; an absent one is nullptr. For the list operand of concat, the slots
// are the list.
struct OperatorArguments {
  OperatorKind kind;
  std::span<const OperandDescriptor* const> operands;
  const OperatorAttributes& attributes;
};

using InferFunction = Result<std::vector<OperandDescriptor>> (*)(const OperatorArguments&);

// One row of the table. `slots` has an entry per slot of the signature (one for a list), `outputs`
// an entry per distinct output limit (one for a sequence such as split's).
struct OperatorRow {
  OperatorKind kind;
  std::vector<TensorConstraint> slots;
  std::vector<TensorConstraint> outputs;
  InferFunction infer = nullptr;  // nullptr: no meaning yet, answers NotSupported.
};

// The row of an operator. The table is an explicit array indexed by kind.
const OperatorRow& GetOperatorRow(OperatorKind kind);

// How messages name an operator: "[label] add", or "add" where there is no label. The label is the
// client's text, and written so that it cannot disguise the message.
std::string OperatorPrefix(OperatorKind kind, const std::string& label);

// Checks slot count, presence, data types and ranks against the row, then runs `infer`. The
// descriptors of the results, or a Validation error that names argument and value, prefixed by the
// label where there is one: "[my_label] add: ...". With LimitSet::kRequired the results are held to
// the row too. `names`: those that dynamic items of the attributes may use. What is dynamic among
// the arguments makes dynamic results (dynamic_inference.h).
Result<std::vector<OperandDescriptor>> InferOperator(
    OperatorKind kind, std::span<const OperandDescriptor* const> operands,
    const OperatorAttributes& attributes, const std::string& label,
    LimitSet limits = LimitSet::kAllowed, const DimensionNames& names = {});

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATOR_TABLE_H_
