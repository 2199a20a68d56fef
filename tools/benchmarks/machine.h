// What the machine itself can do, measured in the same run as the rest, on all cores at once.
#ifndef WEBNND_TOOLS_BENCHMARKS_MACHINE_H_
#define WEBNND_TOOLS_BENCHMARKS_MACHINE_H_

#include <memory>
#include <vector>

namespace webnnd::benchmarks {

class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // GB/s of reading memory in order.
  double StreamBandwidth() const;
  // GB/s of copying memory in order, bytes read and bytes written counted once each.
  double CopyBandwidth();
  // GB/s of gathering words from random rows of a matrix of 16 MiB, asked for early, as many as it
  // has: indices, words and results counted once each. To hold gatherElements against.
  double GatherBandwidth();
  // GB/s of copying such a matrix, and then writing a quarter as many words to random rows of it:
  // the matrix counted twice, indices, words and places once each. To hold scatterElements against.
  double ScatterBandwidth();
  // Billions of float32 multiply-adds a second.
  double MultiplyAdds() const;
  // The same by instructions as llvmpipe compiles to: 8 lanes, the product rounded before the sum.
  double UnfusedMultiplyAdds() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MACHINE_H_
