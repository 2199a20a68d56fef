// Block quantization to four bits, as the service's fused product of rows with such weights takes
// them.
#ifndef WEBNND_EXAMPLES_GENERATE_QUANTIZE_H_
#define WEBNND_EXAMPLES_GENERATE_QUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace webnnd::generate {

// Weights that share a scale and a zero point. A matrix whose rows are no multiple of it stays
// float32.
inline constexpr uint32_t kQuantizedBlock = 32;

// Numbers of four bits, two to a byte, the first in the low half: WebNN's uint4.
class PackedNibbles {
 public:
  void Append(uint8_t nibble) {
    if (count_++ % 2 == 0) {
      bytes_.push_back(nibble);
    } else {
      bytes_.back() |= static_cast<uint8_t>(nibble << 4);
    }
  }
  void Reserve(size_t count) { bytes_.reserve((count + 1) / 2); }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t count_ = 0;
};

// (value - zero_point) * scale gives the weight back, within half a scale.
struct QuantizedWeights {
  PackedNibbles values;       // One for each weight.
  std::vector<float> scales;  // One for each block.
  PackedNibbles zero_points;  // Likewise.
};

// Appends `weights`, whole blocks of finite numbers. A block's range is stretched to hold 0, which
// has an exact code.
void QuantizeBlocks(std::span<const float> weights, QuantizedWeights& out);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_QUANTIZE_H_
