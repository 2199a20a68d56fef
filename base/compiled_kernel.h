// CompiledKernel: what names a kernel that a worker has compiled, without naming a shader's room.
#ifndef WEBNND_BASE_COMPILED_KERNEL_H_
#define WEBNND_BASE_COMPILED_KERNEL_H_

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace webnnd {

// Numbers alone, of fixed size and without padding: they travel as they are from a worker to the
// broker.
struct CompiledKernel {
  static constexpr uint32_t kConstantsMax = 32;

  uint32_t adapter = 0;  // As `--device N` names it.
  uint32_t shader = 0;
  uint32_t constant_count = 0;
  // Of its specialisation; zero beyond those that count.
  std::array<uint32_t, kConstantsMax> constants{};

  // Those that count, however many a hostile sender says there are.
  std::span<const uint32_t> Constants() const {
    return std::span(constants).first(constant_count <= kConstantsMax ? constant_count : 0);
  }
  // What a sender of ours would send.
  bool well_formed() const;
  friend auto operator<=>(const CompiledKernel&, const CompiledKernel&) = default;
};
static_assert(std::has_unique_object_representations_v<CompiledKernel>);

// As the device names it: the hash stands for the kernel's code and constants, and how the device
// is used.
struct HashedKernel {
  CompiledKernel kernel;
  uint64_t hash = 0;
};

// "0:17:1,2,3": adapter, shader, constants; and back. ValidationError for any other text.
std::string ToText(const CompiledKernel& kernel);
Result<CompiledKernel> ParseCompiledKernel(std::string_view text);

}  // namespace webnnd

#endif  // WEBNND_BASE_COMPILED_KERNEL_H_
