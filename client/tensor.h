// Tensor: MLTensor of the draft. Device memory that a context owns.
#ifndef WEBNND_CLIENT_TENSOR_H_
#define WEBNND_CLIENT_TENSOR_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "client/operand.h"

namespace webnn {

class ContextImpl;

struct TensorDescriptor {
  OperandDataType data_type = OperandDataType::kFloat32;
  // Dynamic dimensions (extension) reserve their maximum. What they are called counts for nothing.
  webnnd::webidl::Sizes shape;
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
  // As it is now. A new tensor of dynamic shape has its capacity, cleared.
  const Shape& shape() const { return current_.shape(); }
  // At its capacity.
  const OperandDescriptor& descriptor() const { return descriptor_; }
  // Bytes of its shape, as reads and writes have them.
  uint64_t byte_length() const { return current_.byte_length(); }
  bool readable() const { return readable_; }
  bool writable() const { return writable_; }
  bool constant() const { return constant_; }
  bool destroyed() const { return destroyed_; }

  // Extension (webidl/extensions.idl): changes the shape of a tensor with dynamic dimensions,
  // within its capacity; dispatches do it to their outputs. Takes effect in the order of calls. No
  // element moves: what has the same indices before and after stays, others are undefined.
  // Validation.
  webnnd::Result<void> Resize(const Shape& shape);

  // Frees the memory once the work that uses it is done. Reads in flight fail. Idempotent.
  void Destroy();

 private:
  friend class ContextImpl;
  friend class Context;
  friend class GraphBuilder;

  std::shared_ptr<ContextImpl> context_;
  uint64_t handle_;
  OperandDescriptor descriptor_;
  OperandDescriptor current_;  // The same at its shape.
  bool readable_;
  bool writable_;
  bool constant_;
  bool destroyed_ = false;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_TENSOR_H_
