// The SPIR-V modules that the build embeds: each row of shaders/table.txt in each variant.
#ifndef WEBNND_SHADERS_SHADER_TABLE_H_
#define WEBNND_SHADERS_SHADER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "shaders/shader_id.h"

namespace webnnd::shaders {

// How a module reads its operands (TENSOR_READS of tensor.glsl).
enum class Variant : uint8_t { kStorageReads, kTexelReads };
inline constexpr size_t kVariantCount = 2;

// The specialisation constant that tells invocations of a subgroup (subgroup.glsl).
inline constexpr uint32_t kSubgroupSizeConstant = 100;

std::span<const uint32_t> Spirv(ShaderId id, Variant variant);
// Bit i: the module uses binding i of set 0 (tensor.glsl).
uint64_t Bindings(ShaderId id, Variant variant);
// The row's name: "CopyElements".
std::string_view ShaderName(ShaderId id);

}  // namespace webnnd::shaders

#endif  // WEBNND_SHADERS_SHADER_TABLE_H_
