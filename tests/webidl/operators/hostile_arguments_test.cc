// Random arguments, most of them nonsense, for every operator: inference answers with an error or
// with results that its row allows, and never overflows (which the sanitizer builds would report).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "tests/ipc/random.h"
#include "webidl/generated/signatures.h"
#include "webidl/operator_table.h"

namespace webnnd::webidl {
namespace {

constexpr int kCallsPerOperator = 1000;

class Arguments {
 public:
  explicit Arguments(ipc::Random& random) : random_(random) {}

  bool OneIn(uint64_t n) { return random_.Between(1, n) == 1; }

  // Mostly small, so that calls get past the first checks.
  uint32_t Number32() {
    if (!OneIn(8)) return static_cast<uint32_t>(random_.Between(0, 4));
    constexpr uint32_t kEdges[] = {8, 255, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
    return kEdges[random_.Between(0, std::size(kEdges) - 1)];
  }

  template <class T>
  void Fill(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(random_.Between(0, EnumCount<T>() - 1));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = OneIn(2);
    } else if constexpr (std::is_floating_point_v<T>) {
      constexpr double kValues[] = {0.5, 1, 2, -1, 0, 1e30, 1e-30, NAN, INFINITY, -INFINITY};
      value = static_cast<T>(kValues[random_.Between(0, std::size(kValues) - 1)]);
    } else {
      value = static_cast<T>(Number32());
    }
  }
  void Fill(Sizes& value) {
    std::vector<uint32_t> sizes;
    Fill(sizes);
    std::vector<Dimension> dimensions(sizes.begin(), sizes.end());
    // No input has such names.
    if (!dimensions.empty() && OneIn(4)) dimensions[0] = DynamicDimension{"n", Number32(), 1};
    value = Sizes(dimensions);
  }
  void Fill(Number& value) {
    switch (random_.Between(0, 2)) {
      case 0:
        return Fill(value.emplace<double>());
      case 1:
        value = std::bit_cast<int64_t>(random_.Between(0, std::numeric_limits<uint64_t>::max()));
        return;
      default:
        value = random_.Between(0, std::numeric_limits<uint64_t>::max());
    }
  }
  template <class T>
  void Fill(std::vector<T>& values) {
    values.resize(OneIn(50) ? limits::kAttributeListMax : random_.Between(0, 5));
    for (T& value : values) Fill(value);
  }
  void Fill(std::variant<uint32_t, std::vector<uint32_t>>& value) {
    if (OneIn(2)) {
      Fill(value.emplace<uint32_t>());
    } else {
      Fill(value.emplace<std::vector<uint32_t>>());
    }
  }
  template <class T>
  void Fill(std::optional<T>& value) {
    value.reset();
    if (OneIn(2)) Fill(value.emplace());
  }

  OperatorAttributes Attributes(OperatorKind kind) {
    OperatorAttributes attributes = DefaultAttributes(kind);
    std::visit(
        [this](auto& alternative) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(alternative)>, NoAttributes>) {
            VisitFields(alternative, [this](std::string_view, auto& field) {
              if (!OneIn(3)) Fill(field);
            });
          }
        },
        attributes);
    return attributes;
  }

  // Often of an allowed type and rank.
  OperandDescriptor Operand(const TensorConstraint& constraint) {
    for (;;) {
      const auto type = static_cast<OperandDataType>(random_.Between(0, kOperandDataTypeCount - 1));
      if (!constraint.types.Contains(type) && !OneIn(200)) continue;
      const uint32_t rank_max = OneIn(10) ? constraint.rank_max : std::min(constraint.rank_max, 4u);
      Shape shape(random_.Between(constraint.rank_min, rank_max));
      for (uint32_t& dimension : shape) {
        dimension = OneIn(20) ? 1u << random_.Between(10, 27)
                              : static_cast<uint32_t>(random_.Between(1, 4));
      }
      auto descriptor = OperandDescriptor::Create(type, shape);
      if (descriptor.ok()) return *descriptor;
    }
  }

 private:
  template <class T>
  static constexpr uint32_t EnumCount() {
    if constexpr (std::is_same_v<T, OperandDataType>) return kOperandDataTypeCount;
    if constexpr (std::is_same_v<T, Conv2dFilterOperandLayout>) {
      return kConv2dFilterOperandLayoutCount;
    }
    // All others that attributes have: two or three values; every one has the first two.
    return 2;
  }

  ipc::Random& random_;
};

void ExpectAllowed(const OperatorRow& row, const std::vector<OperandDescriptor>& results) {
  EXPECT_FALSE(results.empty());
  for (size_t i = 0; i < results.size(); ++i) {
    // A sequence has one constraint for all, or one for each.
    const TensorConstraint& constraint = row.outputs[row.outputs.size() == 1 ? 0 : i];
    EXPECT_TRUE(constraint.types.Contains(results[i].data_type()))
        << OperatorName(row.kind) << " " << results[i].ToString();
    EXPECT_GE(results[i].rank(), constraint.rank_min) << OperatorName(row.kind);
    EXPECT_LE(results[i].rank(), constraint.rank_max) << OperatorName(row.kind);
    EXPECT_LE(results[i].byte_length(), limits::kTensorBytesMax);
  }
}

TEST(HostileArguments, EveryOperator_AnswersWithinItsRow) {
  ipc::Random random;
  Arguments arguments(random);
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorRow& row = GetOperatorRow(static_cast<OperatorKind>(i));
    const OperatorSignature& signature = GetSignature(row.kind);
    int accepted = 0;
    for (int call = 0; call < kCallsPerOperator; ++call) {
      const size_t count = signature.operand_list ? random.Between(0, 4) : signature.slots.size();
      std::vector<OperandDescriptor> operands;
      for (size_t slot = 0; slot < count; ++slot) {
        operands.push_back(arguments.Operand(row.slots[signature.operand_list ? 0 : slot]));
        // The same again makes types and shapes meet.
        if (slot > 0 && arguments.OneIn(2)) operands[slot] = operands[0];
      }
      std::vector<const OperandDescriptor*> pointers;
      for (size_t slot = 0; slot < count; ++slot) {
        const bool optional = !signature.operand_list && slot >= signature.required_slots;
        pointers.push_back(arguments.OneIn(optional ? 2 : 100) ? nullptr : &operands[slot]);
      }
      auto results = InferOperator(row.kind, pointers, arguments.Attributes(row.kind), "");
      if (results.ok()) {
        ++accepted;
        ExpectAllowed(row, *results);
      } else {
        EXPECT_EQ(results.error().cause(), Cause::kValidation);
        EXPECT_TRUE(
            results.error().message().starts_with(std::string(OperatorName(row.kind)) + ": "))
            << results.error().message();
        EXPECT_LT(results.error().message().size(), 400u) << results.error().message();
      }
    }
    RecordProperty(std::string(OperatorName(row.kind)), accepted);
  }
}

}  // namespace
}  // namespace webnnd::webidl
