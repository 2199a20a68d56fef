#include "tests/reference/case_maker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::Shape;

constexpr uint64_t kElementsMax = 600;
// Long enough for kernels that share a row between invocations.
constexpr uint64_t kManyElementsMax = 6000;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

long double RandomSpecial(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return kInfinity;
    case 1:
      return -kInfinity;
    case 2:
      return -0.0L;
    default:
      return kNan;
  }
}

// Any finite number of the type, of whatever exponent, subnormals included.
long double RandomFinite(OperandDataType type, long double fraction, std::mt19937_64& random) {
  const bool half = type == OperandDataType::kFloat16;
  const int least = half ? -25 : -150;
  const int greatest = half ? 15 : 127;
  const int exponent = least + static_cast<int>(random() % (greatest - least + 1));
  return std::ldexp(1 + fraction, exponent);
}

long double RandomFloat(OperandDataType type, Domain domain, bool special,
                        std::mt19937_64& random) {
  const long double fraction = std::uniform_real_distribution<double>(0, 1)(random);
  const int sign = random() % 2 == 0 ? 1 : -1;
  if (special && random() % 16 == 0) return RandomSpecial(random);
  switch (domain) {
    case Domain::kAny:
      switch (random() % 8) {
        case 0:
          return sign * static_cast<int>(random() % 5);
        case 1:
          return sign * (static_cast<int>(random() % 40) + 0.5L);
        case 2:
        case 3:
          return sign * RandomFinite(type, fraction, random);
        default:
          return sign * std::ldexp(fraction + 1, static_cast<int>(random() % 16) - 8);
      }
    case Domain::kTerms:
    case Domain::kModerate:
      return sign * 4 * fraction;
    case Domain::kPositive:
      return 0.25L + 3 * fraction;
    case Domain::kFactors:
      return sign * (0.5L + 1.1L * fraction);
  }
  UNREACHABLE();
}

long double RandomInteger(OperandDataType type, Domain domain, bool wide, std::mt19937_64& random) {
  const uint64_t bits = random();
  if (wide) {
    if (random() % 4 == 0) return RoundTo(type, static_cast<long double>(random() % 3));
    if (random() % 4 != 0) return RoundTo(type, static_cast<long double>(bits));
    const long double extreme = random() % 2 == 0 ? LeastInteger(type) : GreatestInteger(type);
    return RoundTo(type, extreme + static_cast<long double>(random() % 2));
  }
  if (domain == Domain::kPositive) return static_cast<int>(bits % 7) + 1;
  return IsSigned(type) ? static_cast<int>(bits % 15) - 7 : static_cast<int>(bits % 16);
}

}  // namespace

Array MakeRandomArray(OperandDataType type, const Shape& shape, Domain domain,
                      std::mt19937_64& random) {
  auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  CHECK(descriptor.ok());
  Array array{*descriptor, std::vector<long double>(descriptor->element_count()), {}};
  const bool special = domain == Domain::kAny || (domain == Domain::kTerms && random() % 6 == 0);
  const bool wide = (domain == Domain::kAny || domain == Domain::kTerms) && random() % 4 != 0;
  for (long double& value : array.values) {
    value = IsFloat(type) ? RoundTo(type, RandomFloat(type, domain, special, random))
                          : RandomInteger(type, domain, wide, random);
  }
  return array;
}

RandomCase MakeRandomCase(webidl::OperatorKind kind, std::mt19937_64& random) {
  CaseMaker maker(kind, random);
  GetRow(kind).make(maker);
  return maker.Take();
}

std::string RandomCase::Describe() const {
  std::string text(webidl::OperatorName(kind));
  for (const auto& operand : operands) {
    text += " " + (operand ? operand->descriptor.ToString() : "-");
  }
  return text;
}

CaseMaker::CaseMaker(webidl::OperatorKind kind, std::mt19937_64& random)
    : random_(random), domain_(GetRow(kind).domain) {
  made_.kind = kind;
  made_.attributes = webidl::DefaultAttributes(kind);
}

OperandDataType CaseMaker::PickType(size_t slot) {
  const auto& types = webidl::GetOperatorRow(kind()).slots[slot].types;
  if (types.Contains(OperandDataType::kFloat32) && OneIn(3)) return OperandDataType::kFloat32;
  return PickFrom(types);
}

OperandDataType CaseMaker::PickFrom(webidl::DataTypeSet types) {
  while (true) {
    auto type = Pick<OperandDataType>(webidl::kOperandDataTypeCount);
    if (types.Contains(type)) return type;
  }
}

Shape CaseMaker::MakeShape(uint32_t rank_min, uint32_t rank_max) {
  // Ranks above 4 are rarer, as they are in use.
  const uint32_t rank =
      Between(rank_min, std::max(rank_min, OneIn(3) ? rank_max : std::min(rank_max, 4u)));
  const uint64_t most = OneIn(10) ? kManyElementsMax : kElementsMax;
  Shape shape;
  uint64_t elements = 1;
  for (uint32_t d = 0; d < rank; ++d) {
    uint32_t size = Between(1, Flip() ? 3 : 17);
    if (most == kManyElementsMax && d == 0) size = Between(1, 2000);
    if (elements * size > most) size = 1;
    elements *= size;
    shape.push_back(size);
  }
  std::shuffle(shape.begin(), shape.end(), random_);
  return shape;
}

Shape CaseMaker::MakeShapeOf(size_t slot) {
  const auto& limits = webidl::GetOperatorRow(kind()).slots[slot];
  return MakeShape(limits.rank_min, limits.rank_max);
}

Shape CaseMaker::MakeBroadcastable(const Shape& shape) {
  Shape own(shape.begin() + (Flip() ? 0 : Between(0, static_cast<uint32_t>(shape.size()))),
            shape.end());
  for (uint32_t& size : own) {
    if (OneIn(4)) size = 1;
  }
  return own;
}

std::vector<uint32_t> CaseMaker::PickAxes(size_t rank) {
  std::vector<uint32_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random_);
  axes.resize(Between(0, static_cast<uint32_t>(rank)));
  return axes;
}

Array& CaseMaker::Add(OperandDataType type, const Shape& shape, std::optional<Domain> domain) {
  made_.operands.push_back(MakeRandomArray(type, shape, domain.value_or(domain_), random_));
  return *made_.operands.back();
}

void CaseMaker::AddOptional(OperandDataType type, const Shape& shape,
                            std::optional<Domain> domain) {
  if (OneIn(3)) {
    AddAbsent();
  } else {
    Add(type, shape, domain);
  }
}

void CaseMaker::AddIndices(const Shape& shape, const std::function<uint32_t(uint64_t)>& size_of) {
  const OperandDataType type = PickFrom(webidl::GetOperatorRow(kind()).slots[1].types);
  Array& indices = Add(type, shape, Domain::kModerate);
  for (uint64_t i = 0; i < indices.size(); ++i) indices.values[i] = MakeIndex(type, size_of(i));
}

long double CaseMaker::MakeIndex(OperandDataType type, uint32_t size) {
  long double index = Between(0, size - 1);
  if (IsSigned(type) && Flip()) index -= size;
  if (!OneIn(8)) return index;
  // Out of range: just, far, at an extreme, or such that the low 32 bits alone were in range.
  switch (Between(0, 3)) {
    case 0:
      return IsSigned(type) && Flip() ? -static_cast<long double>(size) - 1 : size;
    case 1:
      return RoundTo(type, static_cast<long double>(random_()));
    case 2:
      return Flip() ? LeastInteger(type) : GreatestInteger(type);
    default:
      if (type != OperandDataType::kInt64) return GreatestInteger(type);
      return index + (Flip() ? 1 : -1) * std::ldexp(1.0L, static_cast<int>(Between(32, 40)));
  }
}

}  // namespace webnnd::reference
