#include "service/passes/lower_pool.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_channels_first.h"
#include "service/passes/lower_reduce.h"
#include "service/passes/window.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;
using webidl::OperatorKind;

// Values of specialisation constant 1 of pool2d.comp.
enum class PoolOperation : uint32_t {
#define POOL_OPERATION(name, value) k##name = value,
#include "shaders/operations.inc"
#undef POOL_OPERATION
};

// Whether every window is the whole image: a reduction of its rows and columns.
bool CoversImage(const Axis& axis) {
  return axis.output == 1 && axis.dilation == 1 &&
         uint64_t{axis.input} + axis.padding <= axis.window;
}

Status LowerGlobalPool(const Node& node, InputOperandLayout layout, LoweringBuilder& builder) {
  Node reduction = node;
  reduction.kind = node.kind == OperatorKind::kAveragePool2d ? OperatorKind::kReduceMean
                   : node.kind == OperatorKind::kL2Pool2d    ? OperatorKind::kReduceL2
                                                             : OperatorKind::kReduceMax;
  webidl::ReduceAttributes attributes{.keep_dimensions = true};
  attributes.axes = layout == InputOperandLayout::kNchw ? std::vector<uint32_t>{2, 3}
                                                        : std::vector<uint32_t>{1, 2};
  reduction.attributes = std::move(attributes);
  return LowerReduce(reduction, builder);
}

// Specialisation constants 8 to 13 of pool2d.comp.
struct WindowsTogether {
  uint32_t step = 0;
  uint32_t lead = 0;
  uint32_t all_inside = 0;
  uint32_t columns = 4;  // Of the result, for a unit.
  uint32_t all_whole = 0;
  uint32_t by_rows = 0;
};

bool LieInside(const Axis& axis) {
  const uint64_t last = uint64_t{axis.output - 1} * axis.stride;
  return axis.padding == 0 && last + uint64_t{axis.window - 1} * axis.dilation < axis.input;
}

// For an image whose columns lie together; no step where windows are taken one by one.
WindowsTogether FindWindowsTogether(webidl::OperandDataType type, const Axis& height,
                                    const Axis& width, bool wide) {
  constexpr uint64_t kLineQuadsMax = 8;
  const uint32_t lead = (4 - width.padding % 4) % 4;
  const uint64_t line = lead + 3 * uint64_t{width.stride} + width.window;
  if (PerQuad(type) != 4 || width.dilation != 1 || width.input % 4 != 0 ||
      line > 4 * kLineQuadsMax) {
    return {};
  }
  // So that neighbours begin one quad apart.
  const uint32_t unit = width.stride == 2 ? 2 : 4;
  const uint32_t units = DivideRoundingUp(width.output, unit);
  const bool by_rows = units >= RowUnitsMin(wide, 16) && units <= kInvocationIterationsMax;
  return {width.stride, lead, LieInside(height) && LieInside(width), unit, width.output % unit == 0,
          by_rows};
}

PoolOperation PoolOperationOf(OperatorKind kind) {
  if (kind == OperatorKind::kAveragePool2d) return PoolOperation::kAverage;
  return kind == OperatorKind::kL2Pool2d ? PoolOperation::kL2 : PoolOperation::kMax;
}

ShaderId PoolShader(webidl::OperandDataType type) {
  // The rows of the family stand in the order of ComputeClass in
  // shaders/table.txt.
  static_assert(static_cast<int>(ShaderId::kPool2dUint64) -
                    static_cast<int>(ShaderId::kPool2dFloat) ==
                static_cast<int>(ComputeClass::kUint64));
  return static_cast<ShaderId>(static_cast<uint16_t>(ShaderId::kPool2dFloat) +
                               static_cast<uint16_t>(ComputeClassOf(type)));
}

ShaderId PixelsShader(webidl::OperandDataType type) {
  return static_cast<ShaderId>(static_cast<uint16_t>(ShaderId::kPoolChannelsFloat) +
                               static_cast<uint16_t>(ComputeClassOf(type)));
}

// Rows of the result that a kernel goes down (ComputeBand of shaders/pool2d.comp), where windows
// overlap.
struct Bands {
  uint32_t taps_down = 0;  // 0: it does not.
  uint32_t rows = 1;
  uint32_t count = 1;
};
Bands FindBands(const Axis& height, uint64_t planes) {
  constexpr uint32_t kTapsDownMax = 16;
  constexpr uint32_t kRowsMax = 64;
  constexpr uint32_t kStepMax = 4;
  // Fewer leave threads idle.
  constexpr uint64_t kUnitsMin = 16;
  if (height.dilation != 1 || height.window > kTapsDownMax || height.stride > kStepMax ||
      height.stride >= height.window || height.output == 1) {
    return {};
  }
  const auto wanted =
      static_cast<uint32_t>(std::min<uint64_t>(DivideRoundingUp(kUnitsMin, planes), height.output));
  const uint32_t count = std::max(wanted, DivideRoundingUp(height.output, kRowsMax));
  const uint32_t rows = DivideRoundingUp(height.output, count);
  return {height.window, rows, DivideRoundingUp(height.output, rows)};
}
// What a band loops over, for FindRowByWords: as many turns as a window of that many rows has.
Axis LinesOf(const Bands& bands) {
  const uint32_t turns = bands.rows + bands.taps_down + 1;
  return {.input = turns, .window = turns};
}

struct Windows {
  Axis height;
  Axis width;
};
Windows ReadWindows(const webidl::Pool2dAttributes& attributes, const OperandDescriptor& input,
                    const OperandDescriptor& result) {
  const Image sizes = ReadImage(input.shape(), attributes.layout);
  const Image output = ReadImage(result.shape(), attributes.layout);
  Axis height = MakeAxis(0, attributes.padding, attributes.strides, attributes.dilations);
  Axis width = MakeAxis(1, attributes.padding, attributes.strides, attributes.dilations);
  const SpatialList& window = attributes.window_dimensions;
  height.input = sizes.row;
  height.window = window ? (*window)[0] : sizes.row;
  height.output = output.row;
  width.input = sizes.column;
  width.window = window ? (*window)[1] : sizes.column;
  width.output = output.column;
  return {height, width};
}

// How pixels whose channels are whole words are taken by words, on llvmpipe
// (shaders/pool_channels.comp).
struct PixelsByWords {
  uint32_t words = 0;       // Of a pixel; 0: they are not.
  uint32_t columns = 1;     // Of the result, for a workgroup at a time.
  uint64_t lane_turns = 0;  // Iterations for those, by all lanes together at most.
};
PixelsByWords FindPixelsByWords(const webidl::Pool2dAttributes& attributes,
                                const OperandDescriptor& input, const OperandDescriptor& result,
                                bool wide) {
  constexpr uint32_t kWordsMin = 8;  // Half of a vector.
  constexpr uint64_t kUnitsMin = 64;
  constexpr uint64_t kLanesMin = 4;
  constexpr uint64_t kLanesMax = 16;
  constexpr uint64_t kVectorsAtOnce = 4;
  const uint32_t bits = webidl::BitsPerElement(input.data_type());
  const Image sizes = ReadImage(input.shape(), attributes.layout);
  const Image output = ReadImage(result.shape(), attributes.layout);
  if (wide || attributes.layout != InputOperandLayout::kNhwc || bits < 8 || bits > 32 ||
      sizes.channel % (32 / bits) != 0 || sizes.channel / (32 / bits) < kWordsMin) {
    return {};
  }
  const auto [height, width] = ReadWindows(attributes, input, result);
  const uint32_t words = sizes.channel / (32 / bits);
  // Loops' ends count, too.
  const uint64_t taps =
      TapsMax(height, /*transposed=*/false) * (2 + TapsMax(width, /*transposed=*/false)) + 1;
  const auto turns = [&](uint64_t lanes) {
    return 4 + (words / (kVectorsAtOnce * lanes) + kVectorsAtOnce) * (1 + taps);
  };
  const uint64_t columns_max = (kInvocationIterationsMax - 1) / turns(kLanesMin);
  const uint64_t parts = DivideRoundingUp(kUnitsMin, uint64_t{output.batch} * output.row);
  const auto columns = static_cast<uint32_t>(
      std::min(columns_max, DivideRoundingUp<uint64_t>(output.column, parts)));
  if (columns == 0) return {};
  return {words, columns, columns * turns(kLanesMax) * kLanesMax};
}

void AddPixelsCall(const PixelsByWords& pixels, const Windows& windows, const Node& node,
                   LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const Image output =
      ReadImage(builder.descriptor(node.results[0]).shape(), InputOperandLayout::kNhwc);
  const uint32_t parts = DivideRoundingUp(output.column, pixels.columns);
  const uint64_t units = uint64_t{output.batch} * output.row * parts;
  const uint32_t row_words = windows.width.input * pixels.words;
  LoweredCall call;
  call.shader = PixelsShader(input.data_type());
  call.specialization = {static_cast<uint32_t>(PoolOperationOf(node.kind)),
                         static_cast<uint32_t>(input.data_type())};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(units), pixels.words, row_words,
                     windows.height.input * row_words};
  AppendDivisor(parts, call.parameters, pixels.columns);
  AppendDivisor(output.row, call.parameters, output.column);
  AppendAxis(windows.height, call.parameters);
  AppendAxis(windows.width, call.parameters);
  call.workgroups = units;
  call.cost = units * pixels.lane_turns;
  builder.AddCall(std::move(call));
}

}  // namespace

Status LowerPool2d(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::Pool2dAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const Image output = ReadImage(result.shape(), attributes.layout);
  auto [height, width] = ReadWindows(attributes, input, result);
  TRY(NormalizeAxis(height, height.output));
  TRY(NormalizeAxis(width, width.output));
  if (CoversImage(height) && CoversImage(width)) {
    return LowerGlobalPool(node, attributes.layout, builder);
  }
  const PixelsByWords pixels = FindPixelsByWords(attributes, input, result, builder.wide());
  if (pixels.words != 0) {
    AddPixelsCall(pixels, {height, width}, node, builder);
    return {};
  }

  uint64_t rows = TapsMax(height, /*transposed=*/false);
  uint64_t columns = TapsMax(width, /*transposed=*/false);
  uint64_t loops = rows * (1 + LoopsOver(columns));
  auto elements = NarrowCast<uint32_t>(result.element_count());
  if (loops > kInvocationIterationsMax) {
    return NotSupportedError("the window ({} by {} taps) is larger than a kernel loops over", rows,
                             columns);
  }

  const bool is_nchw = attributes.layout == InputOperandLayout::kNchw;
  const Bands bands = FindBands(height, uint64_t{output.batch} * output.channel);
  const uint32_t bits = webidl::BitsPerElement(input.data_type());
  const bool has_lines = !builder.wide() && bits >= 8 && bits <= 32;
  // Rows that windows share cost more than transposes.
  constexpr uint64_t kTransposedMin = 1 << 14;
  if (!is_nchw && has_lines && bands.taps_down != 0 && elements >= kTransposedMin) {
    return LowerChannelsFirst(node, LowerPool2d, builder);
  }

  // So few taps that a kernel of its own for the window, without a loop, is no
  // long one.
  constexpr uint64_t kConstantTapsMax = 16;
  const uint64_t taps = uint64_t{height.window} * width.window;
  const bool few_taps = taps <= kConstantTapsMax;
  WindowsTogether together;
  if (few_taps && is_nchw) {
    together = FindWindowsTogether(input.data_type(), height, width, builder.wide());
  }
  // Of windows that do not overlap quads hold what is needed, and no more.
  RowByWords row_by_words;
  if (is_nchw && has_lines && (together.step == 0 || width.window > width.stride)) {
    row_by_words = FindRowByWords(bands.taps_down != 0 ? LinesOf(bands) : height, width, {});
  }
  const bool by_words = row_by_words.step != 0;
  const bool by_bands = by_words && bands.taps_down != 0;
  if (by_words) together = {};
  Image strides = ReadImage(PackedStrides(input.shape()), attributes.layout);
  Image result_strides = ReadImage(PackedStrides(result.shape()), attributes.layout);
  StridedDimension batch{output.batch, {0, strides.batch, 0, result_strides.batch}};
  StridedDimension channel{output.channel, {0, strides.channel, 0, result_strides.channel}};
  StridedDimension pixel{output.row * output.column, {1, 0}};
  StridedDimension row{output.row, {1, 0, 0, result_strides.row}};
  StridedDimension unit{DivideRoundingUp<uint32_t>(output.column, together.columns),
                        {0, 0, together.columns, together.columns}};
  const bool by_rows = together.by_rows != 0 || by_words;
  const StridedDimension band{bands.count, {bands.rows, 0, 0, bands.rows * result_strides.row}};
  auto dimensions = by_bands             ? Coalesce(std::array{batch, channel, band})
                    : by_rows            ? Coalesce(std::array{batch, channel, row})
                    : together.step != 0 ? Coalesce(std::array{batch, channel, row, unit})
                    : is_nchw            ? Coalesce(std::array{batch, channel, pixel})
                                         : Coalesce(std::array{batch, pixel, channel});
  LoweredCall call;
  call.shader = PoolShader(input.data_type());
  call.specialization = {static_cast<uint32_t>(PoolOperationOf(node.kind)),
                         static_cast<uint32_t>(input.data_type()), RankConstant(dimensions),
                         columns < kLongLoopUnroll};
  call.specialization.push_back(few_taps ? height.window : 0);
  call.specialization.push_back(few_taps ? width.window : 0);
  call.specialization.push_back(QuadsLieInRows(dimensions, PerQuad(result.data_type())));
  call.specialization.insert(
      call.specialization.end(),
      {together.step, together.lead, together.all_inside, together.columns, together.all_whole,
       together.by_rows, row_by_words.step, row_by_words.taps_unrolled,
       by_bands ? bands.taps_down : 0, by_bands ? height.stride : 1});
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {
      by_rows || together.step != 0 ? NarrowCast<uint32_t>(ElementsOf(dimensions)) : elements,
      static_cast<uint32_t>(dimensions.size()), strides.row, strides.column};
  AppendDivisor(output.column, call.parameters, by_bands ? bands.rows : unit.size);
  AppendAxis(height, call.parameters, output.row);
  AppendAxis(width, call.parameters);
  AppendDimensions(dimensions, call.parameters);
  if (by_rows) {
    call.workgroups = call.parameters[0];
  } else {
    call.invocations = together.step != 0       ? call.parameters[0]
                       : few_taps && bits >= 32 ? StoreQuads(result)
                                                : elements;
  }
  call.cost = elements * std::max({loops, rows * columns, taps});
  if (by_words) call.cost = std::max(call.cost, call.workgroups * row_by_words.lane_turns);
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service
