// Operand: MLOperand of the draft. A value inside one graph builder.
#ifndef WEBNND_CLIENT_OPERAND_H_
#define WEBNND_CLIENT_OPERAND_H_

#include <cstdint>
#include <memory>

#include "webidl/operand_descriptor.h"

namespace webnn {

using webnnd::webidl::Dimension;
using webnnd::webidl::DynamicDimension;
using webnnd::webidl::OperandDataType;
using webnnd::webidl::OperandDescriptor;
using webnnd::webidl::Shape;

// A cheap copyable handle. It names its builder by a number that is never reused, so that an
// operand of another builder is told apart even after that one is gone.
class Operand {
 public:
  OperandDataType data_type() const { return descriptor_->data_type(); }
  // Of dynamic dimensions the maximum; descriptor().dimensions() has them by name.
  const Shape& shape() const { return descriptor_->shape(); }
  const OperandDescriptor& descriptor() const { return *descriptor_; }

 private:
  friend class GraphBuilder;
  Operand(uint64_t builder_serial, uint32_t id, std::shared_ptr<const OperandDescriptor> descriptor)
      : builder_serial_(builder_serial), id_(id), descriptor_(std::move(descriptor)) {}

  uint64_t builder_serial_;
  uint32_t id_;
  std::shared_ptr<const OperandDescriptor> descriptor_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_OPERAND_H_
