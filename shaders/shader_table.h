// The SPIR-V modules that the build embeds, one per row of shaders/table.txt.
#ifndef WEBNND_SHADERS_SHADER_TABLE_H_
#define WEBNND_SHADERS_SHADER_TABLE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "shaders/shader_id.h"

namespace webnnd::shaders {

std::span<const uint32_t> Spirv(ShaderId id);
// The row's name: "CopyWords".
std::string_view ShaderName(ShaderId id);

}  // namespace webnnd::shaders

#endif  // WEBNND_SHADERS_SHADER_TABLE_H_
