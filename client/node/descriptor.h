// MLOperandDescriptor and MLTensorDescriptor from JavaScript.
#ifndef WEBNND_CLIENT_NODE_DESCRIPTOR_H_
#define WEBNND_CLIENT_NODE_DESCRIPTOR_H_

#include <vector>

#include "base/result.h"
#include "client/node/values.h"
#include "webidl/operand_descriptor.h"

namespace webnn::node {

struct Descriptor {
  webnnd::webidl::OperandDataType data_type = webnnd::webidl::OperandDataType::kFloat32;
  std::vector<webnnd::webidl::Dimension> dimensions;
  bool readable = false;
  bool writable = false;

  static Descriptor From(Reader& reader, napi_value value);
  // The shape where all dimensions are numbers; NotSupported otherwise.
  webnnd::Result<webnnd::webidl::Shape> FixedShape() const;
};

}  // namespace webnn::node

#endif  // WEBNND_CLIENT_NODE_DESCRIPTOR_H_
