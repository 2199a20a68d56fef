// Instructions of a SPIR-V module, as words (SPIR-V specification, 2.3 "Physical Layout").
#ifndef WEBNND_SERVICE_SPIRV_INSTRUCTION_H_
#define WEBNND_SERVICE_SPIRV_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <vector>

#include "base/check.h"

namespace webnnd::service::spirv {

using Id = uint32_t;

inline constexpr size_t kHeaderWords = 5;
inline constexpr size_t kBoundWord = 3;  // Of the header: all ids are below it.

constexpr uint32_t FirstWord(spv::Op op, size_t words) {
  return static_cast<uint32_t>(words) << 16 | static_cast<uint32_t>(op);
}

// A view of one instruction.
class Instruction {
 public:
  explicit Instruction(std::span<const uint32_t> words);

  std::span<const uint32_t> words() const { return words_; }
  spv::Op op() const { return static_cast<spv::Op>(words_[0] & 0xffff); }
  // Where there is one; 0 is no id.
  Id type() const { return has_type_ ? words_[1] : 0; }
  Id result() const { return has_result_ ? words_[has_type_ ? 2 : 1] : 0; }
  // What follows type and result.
  std::span<const uint32_t> operands() const { return words_.subspan(first_operand()); }
  size_t first_operand() const { return 1u + has_type_ + has_result_; }

 private:
  std::span<const uint32_t> words_;
  bool has_type_ = false;
  bool has_result_ = false;
};

// Those of a module, behind its header.
std::vector<Instruction> InstructionsOf(std::span<const uint32_t> code);

// Words of a string (2.2.1): its first byte that is 0 ends it.
size_t StringWords(std::span<const uint32_t> words);

// What the operands of an instruction are, in order: 'i' an id, 'l' a literal, 's' a string; to the
// end 'I' ids, 'L' literals, 'P' pairs of a literal and an id; 'O' another instruction without type
// and result. Of the instructions that glslang makes of kernels.
const char* OperandKinds(spv::Op op);

// Calls visit(i) for each word i that is an id which the instruction uses: its type, and operands.
template <class Visit>
void ForEachUsedId(const Instruction& instruction, Visit visit) {
  if (instruction.type() != 0) visit(size_t{1});
  const std::span<const uint32_t> words = instruction.words();
  size_t i = instruction.first_operand();
  const char* kind = OperandKinds(instruction.op());
  if (*kind == 'O') kind = OperandKinds(static_cast<spv::Op>(words[i++]));
  for (; i < words.size() && *kind != 0; ++kind) {
    switch (*kind) {
      case 'i':
        visit(i++);
        break;
      case 'l':
        ++i;
        break;
      case 's':
        i += StringWords(words.subspan(i));
        break;
      case 'I':
        while (i < words.size()) visit(i++);
        break;
      case 'L':
        i = words.size();
        break;
      case 'P':
        for (; i < words.size(); i += 2) visit(i + 1);
        break;
      default:
        UNREACHABLE();
    }
  }
  CHECK(i >= words.size());
}

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_INSTRUCTION_H_
