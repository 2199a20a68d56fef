#include "webidl/generated/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace webnnd::webidl {
namespace {

using testing::ElementsAre;

OperatorKind Kind(uint32_t i) { return static_cast<OperatorKind>(i); }

template <class Enum>
void ExpectBothWays(std::optional<Enum> (*from_string)(std::string_view), uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(from_string(ToString(value)), value) << ToString(value);
  }
  EXPECT_EQ(from_string("neither of them"), std::nullopt);
}

TEST(Enums, Strings_GoBothWays) {
  ExpectBothWays(PowerPreferenceFromString, kPowerPreferenceCount);
  ExpectBothWays(InputOperandLayoutFromString, kInputOperandLayoutCount);
  ExpectBothWays(OperandDataTypeFromString, kOperandDataTypeCount);
  ExpectBothWays(Conv2dFilterOperandLayoutFromString, kConv2dFilterOperandLayoutCount);
  ExpectBothWays(ConvTranspose2dFilterOperandLayoutFromString,
                 kConvTranspose2dFilterOperandLayoutCount);
  ExpectBothWays(GruWeightLayoutFromString, kGruWeightLayoutCount);
  ExpectBothWays(RecurrentNetworkActivationFromString, kRecurrentNetworkActivationCount);
  ExpectBothWays(RecurrentNetworkDirectionFromString, kRecurrentNetworkDirectionCount);
  ExpectBothWays(LstmWeightLayoutFromString, kLstmWeightLayoutCount);
  ExpectBothWays(PaddingModeFromString, kPaddingModeCount);
  ExpectBothWays(RoundingTypeFromString, kRoundingTypeCount);
  ExpectBothWays(InterpolationModeFromString, kInterpolationModeCount);
  EXPECT_EQ(ToString(OperandDataType::kFloat16), "float16");
  EXPECT_EQ(ToString(PowerPreference::kHighPerformance), "high-performance");
  EXPECT_EQ(InterpolationModeFromString("nearest-neighbor"), InterpolationMode::kNearestNeighbor);
}

TEST(Enums, UnknownString_IsNothing) {
  EXPECT_EQ(OperandDataTypeFromString(""), std::nullopt);
  EXPECT_EQ(OperandDataTypeFromString("Float32"), std::nullopt);
  EXPECT_EQ(OperandDataTypeFromString("float32 "), std::nullopt);
}

TEST(Enums, OverriddenTypes_FollowTheDraftsOwn) {
  EXPECT_EQ(OperandDataTypeFromString("int4"), OperandDataType::kInt4);
  EXPECT_EQ(OperandDataTypeFromString("uint4"), OperandDataType::kUint4);
  EXPECT_LT(OperandDataType::kUint8, OperandDataType::kInt4);
}

TEST(OperatorKind, Names_AreNinetyFiveInAlphabeticalOrder) {
  ASSERT_EQ(kOperatorKindCount, 95u);
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    EXPECT_EQ(OperatorKindFromName(OperatorName(Kind(i))), Kind(i));
    if (i > 0) {
      EXPECT_LT(OperatorName(Kind(i - 1)), OperatorName(Kind(i)));
    }
  }
  EXPECT_EQ(OperatorName(OperatorKind::kL2Pool2d), "l2Pool2d");
  EXPECT_EQ(OperatorName(OperatorKind::kScatterND), "scatterND");
}

TEST(OperatorKind, UnknownName_IsNothing) {
  EXPECT_EQ(OperatorKindFromName("Add"), std::nullopt);
  EXPECT_EQ(OperatorKindFromName("input"), std::nullopt);
  EXPECT_EQ(OperatorKindFromName("constant"), std::nullopt);
  EXPECT_EQ(OperatorKindFromName("build"), std::nullopt);
}

TEST(Attributes, Defaults_AreTheDrafts) {
  EXPECT_EQ(GemmAttributes{}.alpha, 1.0);
  EXPECT_EQ(BatchNormalizationAttributes{}.epsilon, 1e-5);
  EXPECT_EQ(BatchNormalizationAttributes{}.axis, 1u);
  EXPECT_EQ(ArgMinMaxAttributes{}.output_data_type, OperandDataType::kInt32);
  EXPECT_EQ(Pool2dAttributes{}.layout, InputOperandLayout::kNchw);
  EXPECT_EQ(TriangularAttributes{}.upper, true);
  EXPECT_EQ(PadAttributes{}.value, Number(0.0));
  EXPECT_EQ(ClampAttributes{}.min_value, std::nullopt);
}

TEST(Attributes, AbsentList_IsNotAnEmptyOne) {
  ReduceAttributes empty;
  empty.axes.emplace();
  EXPECT_NE(ReduceAttributes{}, empty);
}

TEST(Attributes, Split_KeepsItsAlternative) {
  const SplitAttributes number{.splits = 2u};
  const SplitAttributes list{.splits = std::vector<uint32_t>{2}};
  EXPECT_NE(number, list);
}

TEST(Attributes, Defaults_MatchTheirOperator) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    EXPECT_TRUE(AttributesMatch(Kind(i), DefaultAttributes(Kind(i)))) << OperatorName(Kind(i));
  }
  EXPECT_TRUE(std::holds_alternative<ReduceAttributes>(DefaultAttributes(OperatorKind::kReduceL1)));
  EXPECT_TRUE(std::holds_alternative<NoAttributes>(DefaultAttributes(OperatorKind::kRelu)));
}

TEST(Attributes, OfAnotherOperator_DoNotMatch) {
  EXPECT_FALSE(AttributesMatch(OperatorKind::kRelu, ReduceAttributes{}));
  EXPECT_FALSE(AttributesMatch(OperatorKind::kReduceL1, NoAttributes{}));
  // The same fields are not enough.
  EXPECT_FALSE(AttributesMatch(OperatorKind::kConcat, SoftmaxAttributes{}));
}

// Changes the n-th field.
class FieldChanger {
 public:
  explicit FieldChanger(int nth) : rest_(nth) {}
  void operator()(std::string_view, auto& field) {
    if (rest_-- == 0) Change(field);
  }
  bool found() const { return rest_ < 0; }

 private:
  void Change(bool& field) { field = !field; }
  template <class T>
  requires std::is_arithmetic_v<T>
  void Change(T& field) { field += 1; }
  template <class T>
  requires std::is_enum_v<T>
  void Change(T& field) { field = static_cast<T>(field == T{} ? 1 : 0); }
  void Change(Number& field) { field = 1234.5; }
  template <class T>
  void Change(std::vector<T>& field) {
    field.emplace_back();
  }
  template <class T>
  void Change(std::optional<T>& field) {
    if (field) return field.reset();
    field.emplace();
  }
  void Change(std::variant<uint32_t, std::vector<uint32_t>>& field) {
    field = std::vector<uint32_t>{3, 4};
  }

  int rest_;
};

TEST(Attributes, ThatDifferInAnyField_AreNotEqual) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorAttributes original = DefaultAttributes(Kind(i));
    EXPECT_EQ(DefaultAttributes(Kind(i)), original);
    for (int nth = 0;; ++nth) {
      OperatorAttributes changed = original;
      FieldChanger changer(nth);
      std::visit([&](auto& attributes) { VisitFields(attributes, changer); }, changed);
      if (!changer.found()) break;
      EXPECT_NE(changed, original) << OperatorName(Kind(i)) << " " << nth;
    }
  }
}

TEST(VisitFields, Fields_ComeInOrderByTheirIdlName) {
  const GruCellAttributes attributes{.hidden_size = 3};
  std::vector<std::string> names;
  VisitFields(attributes, [&](std::string_view name, const auto& value) {
    names.emplace_back(name);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, uint32_t>) {
      EXPECT_EQ(value, 3u);
    }
  });
  EXPECT_THAT(names, ElementsAre("hiddenSize", "resetAfter", "layout", "activations"));
}

TEST(VisitFields, MutableFields_CanBeSet) {
  ReduceAttributes attributes;
  VisitFields(attributes, [](std::string_view name, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      EXPECT_EQ(name, "keepDimensions");
      value = true;
    }
  });
  EXPECT_TRUE(attributes.keep_dimensions);
}

}  // namespace
}  // namespace webnnd::webidl
