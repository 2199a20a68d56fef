// Inference where dimensions are dynamic, by way of the operators' rows, which know numbers only.
#ifndef WEBNND_WEBIDL_DYNAMIC_INFERENCE_H_
#define WEBNND_WEBIDL_DYNAMIC_INFERENCE_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/operator_table.h"

namespace webnnd::webidl {

// Whether an item of one of its lists is dynamic.
bool HasDynamicItems(const OperatorAttributes& attributes);
// The attributes with the numbers that their items have at `sizes`. Validation error where one is
// over a name that is not in `names`, given with bounds that are not its own, or negative.
Result<OperatorAttributes> AttributesAt(OperatorAttributes attributes, const DimensionNames& names,
                                        const Assignment& sizes);

// The names that dimensions of the descriptors (nullptr: none) and items of the attributes have.
// Validation error where two bounds come with one name.
Result<Symbols> FindSymbols(std::span<const OperandDescriptor* const> operands,
                            const OperatorAttributes& attributes, const DimensionNames& names);

// Sizes at which whatever is linear in every name shows what it is: an affine basis first, of sizes
// that are 1 or alike only where bounds leave no other choice, then points that prove it, corners
// among them. No size is 0, so that rows take them.
std::vector<Assignment> SamplePoints(const Symbols& symbols);

// The expression that has values[i] at points[i] for every i, `points` from SamplePoints; nullopt
// where there is none.
std::optional<LinearExpression> FitExpression(const Symbols& symbols,
                                              std::span<const Assignment> points,
                                              std::span<const int64_t> values);

// Infers at all sample points, where `infer` gives the results for operands and attributes without
// dynamic dimensions, and finds what the results are in between. Errors say at which sizes they
// come up. NotSupported where the result is not linear in the names. Whoever runs the operator at
// some size infers again: that no size in between is different has not been shown.
using InferAt = std::function<Result<std::vector<OperandDescriptor>>(
    std::span<const OperandDescriptor* const> operands, const OperatorAttributes& attributes)>;
Result<std::vector<OperandDescriptor>> InferDynamic(
    std::span<const OperandDescriptor* const> operands, const OperatorAttributes& attributes,
    const DimensionNames& names, const InferAt& infer);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_DYNAMIC_INFERENCE_H_
