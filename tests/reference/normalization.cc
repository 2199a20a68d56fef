// Normalizations by given moments, or by those of the input.
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::InputOperandLayout;
using webidl::Shape;

double PickEpsilon(CaseMaker& maker) { return maker.Flip() ? 1e-5 : 0.0625 * maker.Between(1, 8); }

Real Normalize(Real x, Real mean, Real variance, double epsilon) {
  return (x - mean) / Sqrt(variance + Real::Rounded(epsilon, 0, 0.5L));
}

Real ScaleAndShift(Real x, const Array* scale, const Array* bias, uint64_t index) {
  if (scale != nullptr) x = x * Real(scale->values[index]);
  if (bias != nullptr) x = x + Real(bias->values[index]);
  return x;
}

struct Moments {
  Real mean;
  Real variance;
};

Moments MomentsOf(const std::vector<long double>& values) {
  const Real count(static_cast<long double>(values.size()));
  Sum sum;
  for (long double value : values) sum.Add(value);
  Moments moments;
  moments.mean = sum.Result() / count;
  Sum squares;
  for (long double value : values) {
    const Real difference = Real(value) - moments.mean;
    squares.Add(difference * difference);
  }
  moments.variance = squares.Result() / count;
  return moments;
}

// Normalizes groups of elements that have one position in the dimensions that are not reduced.
// `affine_index` gives the element of scale and bias.
template <class AffineIndex>
void NormalizeGroups(const Arguments& arguments, const std::vector<bool>& reduced, double epsilon,
                     AffineIndex affine_index, Array& result) {
  const Array& input = *arguments.operands[0];
  std::map<Position, std::vector<uint64_t>> groups;
  for (uint64_t i = 0; i < input.size(); ++i) {
    Position key = Unravel(i, input.shape());
    for (size_t d = 0; d < key.size(); ++d) {
      if (reduced[d]) key[d] = 0;
    }
    groups[key].push_back(i);
  }
  for (const auto& [key, places] : groups) {
    std::vector<long double> values;
    for (uint64_t place : places) values.push_back(input.values[place]);
    const Moments moments = MomentsOf(values);
    for (uint64_t place : places) {
      const Real x = Normalize(Real(input.values[place]), moments.mean, moments.variance, epsilon);
      result.Set(place, ScaleAndShift(x, arguments.operands[1], arguments.operands[2],
                                      affine_index(Unravel(place, input.shape()))));
    }
  }
}

}  // namespace

void MakeBatchNormalization(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  const auto type = maker.PickType(0);
  auto& attributes = maker.attributes<webidl::BatchNormalizationAttributes>();
  // The default needs two dimensions.
  attributes.axis = shape.size() > 1 && maker.OneIn(3) ? 1 : maker.PickAxis(shape);
  attributes.epsilon = PickEpsilon(maker);
  const Shape features = {shape[attributes.axis]};
  maker.Add(type, shape);
  maker.Add(type, features, Domain::kModerate);
  maker.Add(type, features, Domain::kPositive);
  maker.AddOptional(type, features, Domain::kModerate);
  maker.AddOptional(type, features, Domain::kModerate);
}

void EvaluateBatchNormalization(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::BatchNormalizationAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  for (uint64_t i = 0; i < input.size(); ++i) {
    const uint32_t feature = Unravel(i, input.shape())[attributes.axis];
    const Real x = Normalize(Real(input.values[i]), Real(arguments.operands[1]->values[feature]),
                             Real(arguments.operands[2]->values[feature]), attributes.epsilon);
    results[0].Set(i, ScaleAndShift(x, arguments.operands[3], arguments.operands[4], feature));
  }
}

void MakeInstanceNormalization(CaseMaker& maker) {
  auto& attributes = maker.attributes<webidl::InstanceNormalizationAttributes>();
  const auto type = maker.PickType(0);
  const Shape shape = maker.MakeShapeOf(0);
  attributes.layout = maker.Pick<InputOperandLayout>(webidl::kInputOperandLayoutCount);
  attributes.epsilon = PickEpsilon(maker);
  const Shape channels = {shape[attributes.layout == InputOperandLayout::kNchw ? 1 : 3]};
  maker.Add(type, shape);
  maker.AddOptional(type, channels, Domain::kModerate);
  maker.AddOptional(type, channels, Domain::kModerate);
}

void EvaluateInstanceNormalization(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::InstanceNormalizationAttributes>(arguments.attributes);
  const bool first = attributes.layout == InputOperandLayout::kNchw;
  const std::vector<bool> reduced = {false, !first, true, first};
  NormalizeGroups(
      arguments, reduced, attributes.epsilon, [&](const Position& at) { return at[first ? 1 : 3]; },
      results[0]);
}

void MakeLayerNormalization(CaseMaker& maker) {
  auto& attributes = maker.attributes<webidl::LayerNormalizationAttributes>();
  const auto type = maker.PickType(0);
  const Shape shape = maker.MakeShapeOf(0);
  std::vector<uint32_t> axes;
  for (uint32_t axis = 1; axis < shape.size(); ++axis) axes.push_back(axis);
  if (!maker.OneIn(3)) {
    axes = maker.PickAxes(shape.size());
    attributes.axes = axes;
  }
  attributes.epsilon = PickEpsilon(maker);
  Shape affine;
  for (uint32_t axis : axes) affine.push_back(shape[axis]);
  maker.Add(type, shape);
  maker.AddOptional(type, affine, Domain::kModerate);
  maker.AddOptional(type, affine, Domain::kModerate);
}

void EvaluateLayerNormalization(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::LayerNormalizationAttributes>(arguments.attributes);
  const Shape& shape = arguments.operands[0]->shape();
  std::vector<uint32_t> axes(shape.empty() ? 0 : shape.size() - 1);
  std::iota(axes.begin(), axes.end(), 1);
  if (attributes.axes) axes = *attributes.axes;
  std::vector<bool> reduced(shape.size());
  Shape affine;
  for (uint32_t axis : axes) {
    reduced[axis] = true;
    affine.push_back(shape[axis]);
  }
  // Scale and bias have the dimensions of the axes, in the order in which these are listed.
  const auto affine_index = [&](const Position& at) {
    Position own;
    for (uint32_t axis : axes) own.push_back(at[axis]);
    return Ravel(own, affine);
  };
  NormalizeGroups(arguments, reduced, attributes.epsilon, affine_index, results[0]);
}

}  // namespace webnnd::reference
