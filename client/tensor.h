// Tensor: MLTensor of the draft. Device memory that a context owns.
#ifndef WEBNND_CLIENT_TENSOR_H_
#define WEBNND_CLIENT_TENSOR_H_

#include <cstdint>
#include <memory>

#include "client/operand.h"

namespace webnn {

class ContextImpl;

struct TensorDescriptor {
  OperandDataType data_type = OperandDataType::kFloat32;
  Shape shape;
  bool readable = false;
  bool writable = false;
};

// Held by shared_ptr. Destroyed on the service when Destroy is called or the last reference goes;
// reads in flight, and builders that use it as a constant, hold one.
class Tensor : public std::enable_shared_from_this<Tensor> {
 public:
  // For the library.
  Tensor(std::shared_ptr<ContextImpl> context, uint64_t handle, OperandDescriptor descriptor,
         bool readable, bool writable, bool constant);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  OperandDataType data_type() const { return descriptor_.data_type(); }
  const Shape& shape() const { return descriptor_.shape(); }
  const OperandDescriptor& descriptor() const { return descriptor_; }
  bool readable() const { return readable_; }
  bool writable() const { return writable_; }
  bool constant() const { return constant_; }
  bool destroyed() const { return destroyed_; }

  // Frees the memory once the work that uses it is done. Reads in flight fail. Idempotent.
  void Destroy();

 private:
  friend class ContextImpl;
  friend class Context;
  friend class GraphBuilder;

  std::shared_ptr<ContextImpl> context_;
  uint64_t handle_;
  OperandDescriptor descriptor_;
  bool readable_;
  bool writable_;
  bool constant_;
  bool destroyed_ = false;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_TENSOR_H_
