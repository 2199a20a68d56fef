// The activation that products and convolutions apply to a sum before they store it: an operation
// of unary.glsl that has a float as result.
//
// A module defines EPILOGUE_CONSTANT, the specialisation constant that says which operation
// (kNoActivation: none). Four parameters {alpha, beta, least, greatest} begin at kEpilogueWord.
// service/passes/epilogue.h has both.
#ifndef WEBNND_SHADERS_EPILOGUE_GLSL_
#define WEBNND_SHADERS_EPILOGUE_GLSL_

#include "unary.glsl"

const uint kEpilogueWord = 160u;
const uint kNoActivation = 0xffffffffu;
layout(constant_id = EPILOGUE_CONSTANT) const uint kActivation = kNoActivation;

float Activate(float x) {
  if (kActivation == kNoActivation) return x;
  UnaryParameters parameters =
      UnaryParameters(ParameterValue(kEpilogueWord), ParameterValue(kEpilogueWord + 1u),
                      ParameterValue(kEpilogueWord + 2u), ParameterValue(kEpilogueWord + 3u));
  return ApplyUnary(kActivation, x, parameters);
}

#endif  // WEBNND_SHADERS_EPILOGUE_GLSL_
