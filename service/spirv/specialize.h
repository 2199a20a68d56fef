// Specialize: a module with the values of its specialisation constants, without what they rule out.
//
// Modules here are many kernels in one, of which constants leave a tenth. Drivers find that out as
// well, after they have read, inlined and simplified all of it, which takes lavapipe longer than
// all else that it does before LLVM.
#ifndef WEBNND_SERVICE_SPIRV_SPECIALIZE_H_
#define WEBNND_SERVICE_SPIRV_SPECIALIZE_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace webnnd::service::spirv {

// `code`: a valid module for Vulkan of one entry point, as glslang makes them of GLSL. `constants`:
// values by SpecId; others keep their defaults. The result has no specialisation constants, names
// or lines, and does the same: branches whose condition is known are gone, functions stand once for
// each set of arguments that are known, and what nobody uses is left out.
std::vector<uint32_t> Specialize(std::span<const uint32_t> code,
                                 const std::map<uint32_t, uint32_t>& constants);

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_SPECIALIZE_H_
