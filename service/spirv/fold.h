// What instructions on 32-bit integers and truth values give, where their operands are known.
#ifndef WEBNND_SERVICE_SPIRV_FOLD_H_
#define WEBNND_SERVICE_SPIRV_FOLD_H_

#include <cstdint>
#include <optional>
#include <span>

#include "service/spirv/instruction.h"

namespace webnnd::service::spirv {

// The bits of an integer, or 0 or 1. None: not known.
using Known = std::optional<uint32_t>;

// None as well where the specification leaves the result undefined (division by 0, shifts by 32 and
// more), and for other instructions. The caller sees to the types.
Known Fold(spv::Op op, std::span<const Known> operands);

// Which operand the result is, where it is one of them whatever its value: "true && x", and
// selects.
std::optional<size_t> SameAs(spv::Op op, std::span<const Known> operands);

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_FOLD_H_
