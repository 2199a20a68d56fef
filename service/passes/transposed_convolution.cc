#include "service/passes/transposed_convolution.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;

// None where the step is so large that the kernel cannot calculate with its square.
std::optional<Meeting> FindMeeting(const Axis& axis) {
  constexpr uint32_t kStepMax = 32767;
  Meeting meeting;
  meeting.common = std::gcd(axis.stride, axis.dilation);
  meeting.step = axis.stride / meeting.common;
  if (meeting.step > kStepMax) return std::nullopt;
  const uint32_t back = axis.dilation / meeting.common % meeting.step;
  while (back * meeting.inverse % meeting.step != 1 % meeting.step) ++meeting.inverse;
  meeting.turns = DivideRoundingUp(axis.window, meeting.step);
  return meeting;
}

void AppendMeeting(const Axis& axis, const Meeting& meeting, std::vector<uint32_t>& parameters) {
  parameters.insert(parameters.end(), {axis.input, axis.window, axis.padding, meeting.inverse});
  AppendDivisor(meeting.step, parameters, axis.dilation / meeting.common);
  AppendDivisor(meeting.common, parameters, axis.dilation);
  AppendDivisor(axis.stride, parameters, meeting.turns);
}

// Whether columns_to_image.comp computes strips of the result.
bool TakesStrips(const Convolution& convolution) {
  // Its kStripTapsMax and kStripStepMax.
  constexpr uint32_t kTapsMax = 16;
  constexpr uint32_t kStepMax = 4;
  const Axis& width = convolution.width;
  return convolution.layout == InputOperandLayout::kNchw && width.dilation == 1 &&
         width.window <= kTapsMax && width.padding < kTapsMax && width.stride <= kStepMax &&
         width.input % 4 == 0 && width.output % 4 == 0;
}

// Adds what falls on each element of the result, from `columns` on.
void AddColumnsToImageCall(const Convolution& convolution, const ColumnsProduct& columns,
                           ValueId source, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const Image output = ReadImage(result.shape(), convolution.layout);
  const bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  const uint32_t pixels = columns.product.columns;
  const uint32_t matrix = columns.product.rows * pixels;
  StridedDimension batch{output.batch, {0, 0, convolution.groups * matrix, 0}};
  StridedDimension group{convolution.groups, {0, 0, matrix, convolution.output_channels}};
  StridedDimension channel{convolution.output_channels, {0, 0, columns.channel_rows * pixels, 1}};
  StridedDimension row{output.row, {1, 0, 0, 0}};
  StridedDimension column{output.column, {0, 1, 0, 0}};
  std::vector<StridedDimension> dimensions =
      convolution.layout == InputOperandLayout::kNchw
          ? Coalesce(std::array{batch, group, channel, row, column})
          : Coalesce(std::array{batch, row, column, group, channel});
  const Axis& width = convolution.width;
  const bool strips = TakesStrips(convolution);
  if (strips) {
    dimensions = Coalesce(std::array{batch, group, channel, row});
    dimensions.push_back({DivideRoundingUp(output.column, 4 * width.stride), {0, 4, 0, 0}});
  }
  const uint32_t units = strips ? NarrowCast<uint32_t>(ElementsOf(dimensions))
                                : NarrowCast<uint32_t>(result.element_count());

  // So few taps that a kernel of its own for them, without a loop, is no long one.
  constexpr uint32_t kConstantTurnsMax = 16;
  const uint64_t turns = uint64_t{columns.height.turns} * columns.width.turns;
  const bool few_turns = turns <= kConstantTurnsMax;
  LoweredCall call;
  call.shader = ShaderId::kColumnsToImage;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         has_bias,
                         RankConstant(dimensions),
                         QuadsLieInRows(dimensions, PerQuad(result.data_type())),
                         few_turns ? columns.height.turns : 0,
                         few_turns ? columns.width.turns : 0,
                         residual != kNoValue,
                         ActivationConstant(activation),
                         dimensions.back().strides[0] == 0,
                         strips ? width.window : 0,
                         width.stride,
                         width.padding};
  if (!strips) call.specialization.resize(9);
  // The module declares all slots, so something must be bound there.
  call.buffers = {{source, false},
                  {node.results[0], true},
                  {has_bias ? node.operands[2] : source, false},
                  {residual != kNoValue ? residual : source, false}};
  call.parameters = {units, static_cast<uint32_t>(dimensions.size()), columns.row_rows * pixels,
                     columns.tap_rows * pixels};
  AppendMeeting(convolution.height, columns.height, call.parameters);
  AppendMeeting(convolution.width, columns.width, call.parameters);
  if (strips) call.parameters.back() = output.column;
  AppendDimensions(dimensions, call.parameters);
  AppendActivation(activation, call.parameters);
  call.invocations = strips ? units : StoreQuads(result);
  call.cost = result.element_count() * std::max<uint64_t>(4, 4 * turns);
  builder.AddCall(std::move(call));
}

// Whether one kernel call stores what the product gives where it belongs: two by two taps that do
// not overlap, side by side in the filter as in the result.
bool StoresBlocks(const Convolution& convolution, const ColumnsProduct& columns) {
  for (const Axis& axis : {convolution.height, convolution.width}) {
    if (axis.window != 2 || axis.stride != 2 || axis.dilation != 1 || axis.padding != 0 ||
        axis.output != 2 * axis.input) {
      return false;
    }
  }
  return convolution.layout == InputOperandLayout::kNchw && convolution.width.input % 4 == 0 &&
         columns.channel_rows == 4 && columns.row_rows == 2 && columns.tap_rows == 1 &&
         IsTall(columns.product);
}

// From a product for columns_to_image.comp.
Product MakeBlocksProduct(const Convolution& convolution, Product product, const Node& node) {
  product.c = node.operands[2];
  product.c_strides = {1, 0};
  product.residual = ResidualOf(node);
  product.activation = ActivationOf(node);
  product.result = node.results[0];
  product.result_strides = {4 * product.columns, 1};
  product.block_width = convolution.width.input;
  return product;
}

}  // namespace

std::optional<ColumnsProduct> MakeColumnsProduct(const Convolution& convolution, const Node& node,
                                                 const LoweringBuilder& builder) {
  // Each tap of each channel must be worth writing down; kernels that take single elements are
  // worth nothing on llvmpipe.
  const uint32_t depth_min = builder.wide() ? 8 : 1;
  constexpr uint64_t kMultiplyAddsMin = uint64_t{1} << 16;
  constexpr uint64_t kBytesMax = uint64_t{64} << 20;
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const uint64_t taps = uint64_t{convolution.height.window} * convolution.width.window;
  ColumnsProduct columns;
  columns.elements =
      input.element_count() / convolution.input_channels * taps * convolution.output_channels;
  const std::optional<Meeting> height = FindMeeting(convolution.height);
  const std::optional<Meeting> width = FindMeeting(convolution.width);
  if (!height || !width || convolution.input_channels < depth_min ||
      columns.elements * convolution.input_channels < kMultiplyAddsMin ||
      columns.elements > kBytesMax / sizeof(float)) {
    return std::nullopt;
  }
  columns.height = *height;
  columns.width = *width;
  const uint64_t loops = 1 + height->turns * (2 + uint64_t{width->turns});  // With their ends.
  const uint32_t per_quad = PerQuad(input.data_type());
  if (loops * per_quad > kInvocationIterationsMax) return std::nullopt;

  const Image sizes = ReadImage(input.shape(), convolution.layout);
  const Image strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  // In every layout, channels of the result and taps lie evenly in one order or the other.
  const uint32_t unit = std::min(convolution.filter_output, convolution.filter_column);
  columns.channel_rows = convolution.filter_output / unit;
  columns.row_rows = convolution.filter_row / unit;
  columns.tap_rows = convolution.filter_column / unit;
  Product& product = columns.product;
  product.a = node.operands[1];
  product.b = node.operands[0];
  product.rows = NarrowCast<uint32_t>(taps * convolution.output_channels);
  product.columns = sizes.row * sizes.column;
  product.depth = convolution.input_channels;
  product.a_strides = {unit, convolution.filter_input};
  product.b_strides = {strides.channel, strides.column};
  product.result_strides = {product.columns, 1};
  const uint32_t matrix = product.rows * product.columns;
  StridedDimension batch{sizes.batch, {0, strides.batch, 0, convolution.groups * matrix}};
  StridedDimension groups{convolution.groups,
                          {convolution.filter_group, convolution.input_channels * strides.channel,
                           convolution.output_channels, matrix}};
  product.batch = Coalesce(std::array{batch, groups});
  // The columns are float32, which only this kernel makes of float16.
  if (input.data_type() == webidl::OperandDataType::kFloat16 && !IsTall(product)) {
    return std::nullopt;
  }
  return columns;
}

Status AddColumnsCalls(const Convolution& convolution, ColumnsProduct columns, const Node& node,
                       LoweringBuilder& builder) {
  if (StoresBlocks(convolution, columns)) {
    return AddProductCall(MakeBlocksProduct(convolution, std::move(columns.product), node),
                          builder);
  }
  const uint32_t shape[] = {NarrowCast<uint32_t>(columns.elements)};
  ASSIGN_OR_RETURN(auto descriptor,
                   OperandDescriptor::Create(webidl::OperandDataType::kFloat32, shape));
  columns.product.result = builder.AddTemporary(descriptor);
  TRY(AddProductCall(columns.product, builder));
  AddColumnsToImageCall(convolution, columns, columns.product.result, node, builder);
  return {};
}

}  // namespace webnnd::service
