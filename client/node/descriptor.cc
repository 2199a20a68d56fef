#include "client/node/descriptor.h"

namespace webnn::node {

using webnnd::webidl::OperandDescriptor;
using webnnd::webidl::Shape;

Descriptor Descriptor::From(Reader& reader, napi_value value) {
  Descriptor descriptor;
  reader.Member(value, "dataType", descriptor.data_type);
  reader.Member(value, "shape", descriptor.dimensions);
  reader.Member(value, "readable", descriptor.readable);
  reader.Member(value, "writable", descriptor.writable);
  return descriptor;
}

webnnd::Result<Shape> Descriptor::FixedShape() const {
  Shape shape;
  for (const auto& dimension : dimensions) {
    if (const auto* fixed = std::get_if<uint32_t>(&dimension)) {
      shape.push_back(*fixed);
    } else {
      return webnnd::NotSupportedError("the shape of a constant has no dynamic dimensions");
    }
  }
  return shape;
}

}  // namespace webnn::node
