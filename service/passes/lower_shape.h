// Operators that only rearrange elements. LowerFunction of service/passes/lowering.h each.
#ifndef WEBNND_SERVICE_PASSES_LOWER_SHAPE_H_
#define WEBNND_SERVICE_PASSES_LOWER_SHAPE_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

// identity and reshape: the same bytes.
Status LowerAlias(const Node& node, LoweringBuilder& builder);
Status LowerTranspose(const Node& node, LoweringBuilder& builder);
Status LowerSlice(const Node& node, LoweringBuilder& builder);
Status LowerSplit(const Node& node, LoweringBuilder& builder);
Status LowerConcat(const Node& node, LoweringBuilder& builder);
Status LowerExpand(const Node& node, LoweringBuilder& builder);
Status LowerReverse(const Node& node, LoweringBuilder& builder);
Status LowerTile(const Node& node, LoweringBuilder& builder);
Status LowerPad(const Node& node, LoweringBuilder& builder);
Status LowerTriangular(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_SHAPE_H_
