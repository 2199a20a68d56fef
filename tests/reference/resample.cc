// resample2d. Coordinates are fractions of integers, so that no rounding picks another neighbour.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::Shape;

constexpr int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

// The draft's inputCoordinate, clamped: numerator / denominator.
struct Coordinate {
  int64_t numerator;
  int64_t denominator;
};
Coordinate InputCoordinate(uint32_t at, uint32_t input, uint32_t output) {
  const int64_t denominator = 2 * int64_t{output};
  // (at + 0.5) * input / output - 0.5
  const int64_t numerator = (2 * int64_t{at} + 1) * input - output;
  return {std::clamp<int64_t>(numerator, 0, (int64_t{input} - 1) * denominator), denominator};
}

// v0 * (1 - t) + v1 * t; nothing of v1 comes in with t = 0, not even an infinity.
Real Interpolate(Real v0, Real v1, Real t) {
  return t.value == 0 ? v0 : v0 * (Real(1) - t) + v1 * t;
}

}  // namespace

void MakeResample2d(CaseMaker& maker) {
  auto& resample = maker.attributes<webidl::Resample2dAttributes>();
  resample.mode = maker.Pick<webidl::InterpolationMode>(webidl::kInterpolationModeCount);
  Shape shape;
  for (int d = 0; d < 4; ++d) shape.push_back(maker.Between(1, maker.Flip() ? 4 : 9));
  std::vector<uint32_t> axes = {2, 3};
  if (maker.Flip()) {
    axes[0] = maker.Between(0, 3);
    axes[1] = (axes[0] + maker.Between(1, 3)) % 4;
    resample.axes = axes;
  }
  if (maker.Flip()) resample.sizes = {maker.Between(1, 12), maker.Between(1, 12)};
  if (maker.Flip()) {
    resample.scales.emplace();
    for (uint32_t axis : axes) {
      // The scaled size is at least 1.
      const float least = 1.0f / static_cast<float>(shape[axis]);
      const float scale = 0.25f * static_cast<float>(maker.Between(1, 12));
      resample.scales->push_back(std::max(scale, least * 1.001f));
    }
  }
  maker.Add(maker.PickType(0), shape);
}

void EvaluateResample2d(const Arguments& arguments, std::span<Array> results) {
  const auto& resample = std::get<webidl::Resample2dAttributes>(arguments.attributes);
  const auto axes = resample.axes.value_or(std::vector<uint32_t>{2, 3});
  const Array& input = *arguments.operands[0];
  Array& result = results[0];
  for (uint64_t e = 0; e < result.size(); ++e) {
    Position at = Unravel(e, result.shape());
    std::array<Coordinate, 2> coordinates;
    for (size_t i = 0; i < 2; ++i) {
      coordinates[i] =
          InputCoordinate(at[axes[i]], input.shape()[axes[i]], result.shape()[axes[i]]);
    }
    const auto value = [&](int64_t first, int64_t second) {
      at[axes[0]] = static_cast<uint32_t>(first);
      at[axes[1]] = static_cast<uint32_t>(second);
      return input.values[Ravel(at, input.shape())];
    };
    if (resample.mode == webidl::InterpolationMode::kNearestNeighbor) {
      std::array<int64_t, 2> nearest;
      for (size_t i = 0; i < 2; ++i) {
        // ceil(coordinate - 0.5)
        const auto [numerator, denominator] = coordinates[i];
        nearest[i] = CeilDivide(numerator - denominator / 2, denominator);
      }
      result.values[e] = value(nearest[0], nearest[1]);
      continue;
    }
    std::array<int64_t, 2> low;
    std::array<int64_t, 2> high;
    std::array<Real, 2> share;
    for (size_t i = 0; i < 2; ++i) {
      const auto [numerator, denominator] = coordinates[i];
      low[i] = FloorDivide(numerator, denominator);
      high[i] = CeilDivide(numerator, denominator);
      share[i] = Real(static_cast<long double>(numerator - low[i] * denominator)) /
                 Real(static_cast<long double>(denominator));
    }
    const Real blend = Interpolate(
        Interpolate(Real(value(low[0], low[1])), Real(value(low[0], high[1])), share[1]),
        Interpolate(Real(value(high[0], low[1])), Real(value(high[0], high[1])), share[1]),
        share[0]);
    if (IsFloat(result.type())) {
      result.Set(e, blend);
      continue;
    }
    // To the nearest integer; where the blend may be off across a tie, both are right.
    const long double least = std::nearbyint(blend.value - blend.error);
    const long double most = std::nearbyint(blend.value + blend.error);
    result.Set(e, Real::Within((least + most) / 2, (most - least) / 2));
  }
}

}  // namespace webnnd::reference
