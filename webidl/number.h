// MLNumber: conversion to a data type as the draft's "cast" does it.
#ifndef WEBNND_WEBIDL_NUMBER_H_
#define WEBNND_WEBIDL_NUMBER_H_

#include <string>

#include "webidl/generated/types.h"

namespace webnnd::webidl {

// The draft's "cast": the value of `type` nearest to `number`, ties to even. Integers saturate and
// turn NaN into 0; floats overflow to infinity. The result is a double for float types, an int64_t
// for signed ones and a uint64_t for unsigned ones, and exactly representable in the type.
// https://www.w3.org/TR/webnn/#cast
Number CastNumber(const Number& number, OperandDataType type);

// Whether a < b, for two numbers cast to one type. False for NaN.
bool NumberLess(const Number& a, const Number& b);

// Both bounds of clamp, cast to the type. One that is absent does not bind: it is the type's
// extreme, or infinite. Neither does NaN, https://github.com/webmachinelearning/webnn/issues/874.
struct ClampBounds {
  Number least;
  Number greatest;
};
ClampBounds CastBounds(const ClampAttributes& clamp, OperandDataType type);

std::string NumberToString(const Number& number);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_NUMBER_H_
