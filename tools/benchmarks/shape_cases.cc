#include "tools/benchmarks/shape_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <utility>

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;
using enum OperandDataType;
using Cases = std::vector<OperatorCase>;
using Axes = std::vector<uint32_t>;
using Types = std::vector<OperandDataType>;
// What is made of an operand of the case's shape and data type.
using Apply = std::function<Result<Operand>(GraphSketch&, const Operand&)>;

const Types kFloats = {kFloat32, kFloat16};
const Types kMoved = {kFloat32, kFloat16, kUint8, kInt64};

const char* TypeName(OperandDataType type) {
  switch (type) {
    case kFloat32:
      return "float32";
    case kFloat16:
      return "float16";
    case kUint8:
      return "uint8";
    default:
      return "int64";
  }
}

// `what` of each of `types`.
void Add(const Types& types, const std::string& what, const Shape& shape, const Apply& apply,
         Cases& cases) {
  for (OperandDataType type : types) {
    cases.push_back({fmt::format("{} {} {}", what, shape, TypeName(type)),
                     [=](GraphSketch& g) { g.Output(Must(apply(g, g.Input(type, shape)))); }});
  }
}

// --- Reductions and what has them inside
// -----------------------------------------------------------

void AddSoftmax(const Shape& shape, uint32_t axis, Cases& cases) {
  Add(
      kFloats, fmt::format("softmax by {}", axis), shape,
      [=](GraphSketch& g, const Operand& x) { return g->Softmax(x, axis); }, cases);
}

using Reduction = Result<Operand> (webnn::GraphBuilder::*)(const Operand&,
                                                           const webnn::ReduceOptions&);

void AddReduction(const char* name, Reduction reduction, const Shape& shape, const Axes& axes,
                  Cases& cases) {
  webnn::ReduceOptions options;
  options.axes = axes;
  Add(
      kFloats, fmt::format("{} by {}", name, axes), shape,
      [=](GraphSketch& g, const Operand& x) { return (g.operator->()->*reduction)(x, options); },
      cases);
}

void AddArgMax(const Shape& shape, uint32_t axis, Cases& cases) {
  Add(
      kFloats, fmt::format("argMax by {}", axis), shape,
      [=](GraphSketch& g, const Operand& x) { return g->ArgMax(x, axis); }, cases);
}

void AddReductions(Cases& cases) {
  AddSoftmax({12, 512, 77}, 2, cases);
  AddSoftmax({12, 197, 197}, 2, cases);
  AddSoftmax({12, 512, 128}, 2, cases);
  AddSoftmax({64, 1000}, 1, cases);
  AddSoftmax({1, 50257}, 1, cases);
  AddSoftmax({1, 21, 512, 384}, 1, cases);
  AddSoftmax({1, 77, 12, 64}, 1, cases);
  AddSoftmax({1, 512, 384, 21}, 3, cases);
  AddArgMax({1, 21, 512, 384}, 1, cases);
  AddArgMax({1, 512, 384, 21}, 3, cases);
  AddArgMax({64, 1000}, 1, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, {1, 56, 56, 256}, {1, 2}, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, {1, 7, 7, 1280}, {1, 2}, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, {1, 1280, 7, 7}, {2, 3}, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, {1, 256, 56, 56}, {1}, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, {512, 12, 77}, {2}, cases);
  AddReduction("reduceL2", &webnn::GraphBuilder::ReduceL2, {4096, 384}, {1}, cases);
  AddReduction("reduceLogSumExp", &webnn::GraphBuilder::ReduceLogSumExp, {1, 21, 512, 384}, {1},
               cases);
  Add(
      kFloats, "cumulativeSum by 2", {512, 12, 77},
      [](GraphSketch& g, const Operand& x) { return g->CumulativeSum(x, 2); }, cases);
}

// --- Normalizations
// --------------------------------------------------------------------------------

// With scale and bias, where `affine` says so, and by the second of two axes alone.
void AddLayerNormalization(const Shape& shape, const Axes& axes, bool affine, Cases& cases) {
  Add(
      kFloats, fmt::format("layerNormalization by {}", axes), shape,
      [=](GraphSketch& g, const Operand& x) {
        webnn::LayerNormalizationOptions options;
        options.axes = axes;
        if (affine) {
          Shape normalized;
          for (uint32_t axis : axes) normalized.push_back(shape[axis]);
          options.scale = g.Constant(x.data_type(), normalized);
          options.bias = g.Constant(x.data_type(), normalized);
        }
        return g->LayerNormalization(x, options);
      },
      cases);
}

void AddNormalizations(Cases& cases) {
  AddLayerNormalization({1, 197, 768}, {2}, true, cases);
  AddLayerNormalization({1, 56, 56, 96}, {3}, true, cases);
  AddLayerNormalization({1, 96, 56, 56}, {1}, true, cases);
  AddLayerNormalization({8, 64, 56, 56}, {1, 2, 3}, false, cases);
  Add(
      kFloats, "instanceNormalization nhwc", {1, 128, 128, 64},
      [](GraphSketch& g, const Operand& x) {
        webnn::InstanceNormalizationOptions options;
        options.layout = webnn::InputOperandLayout::kNhwc;
        return g->InstanceNormalization(x, options);
      },
      cases);
  Add(
      kFloats, "batchNormalization by 3", {1, 128, 128, 64},
      [](GraphSketch& g, const Operand& x) {
        webnn::BatchNormalizationOptions options;
        options.axis = 3;
        return g->BatchNormalization(x, g.Constant(x.data_type(), {64}),
                                     g.Constant(x.data_type(), {64}), options);
      },
      cases);
}

// --- Images
// ----------------------------------------------------------------------------------------

void AddResample(webnn::InterpolationMode mode, const Shape& shape, const Axes& axes,
                 const Axes& sizes, Cases& cases) {
  const bool linear = mode == webnn::InterpolationMode::kLinear;
  webnn::Resample2dOptions options;
  options.mode = mode;
  options.axes = axes;
  options.sizes = sizes;
  Add(
      kFloats, fmt::format("resample2d {} to {} of", linear ? "linear" : "nearest", sizes), shape,
      [=](GraphSketch& g, const Operand& x) { return g->Resample2d(x, options); }, cases);
}

void AddImages(Cases& cases) {
  using enum webnn::InterpolationMode;
  AddResample(kNearestNeighbor, {1, 64, 64, 128}, {1, 2}, {128, 128}, cases);
  AddResample(kLinear, {1, 64, 64, 128}, {1, 2}, {128, 128}, cases);
  AddResample(kLinear, {1, 21, 65, 65}, {2, 3}, {513, 513}, cases);
  AddResample(kLinear, {1, 65, 65, 21}, {1, 2}, {513, 513}, cases);
  AddResample(kLinear, {1, 64, 63, 63}, {2, 3}, {125, 125}, cases);
  AddResample(kNearestNeighbor, {1, 64, 63, 63}, {2, 3}, {125, 125}, cases);
  AddResample(kLinear, {1, 3, 512, 512}, {2, 3}, {224, 224}, cases);
  AddResample(kLinear, {1, 512, 512, 3}, {1, 2}, {224, 224}, cases);
  Add(
      kFloats, "maxPool2d 3x3/2", {1, 64, 112, 112},
      [](GraphSketch& g, const Operand& x) {
        webnn::Pool2dOptions options;
        options.window_dimensions = {{3, 3}};
        options.strides = {{2, 2}};
        options.padding = {{1, 1, 1, 1}};
        return g->MaxPool2d(x, options);
      },
      cases);
  Add(
      kFloats, "averagePool2d 2x2/2 nhwc", {1, 112, 112, 64},
      [](GraphSketch& g, const Operand& x) {
        webnn::Pool2dOptions options;
        options.window_dimensions = {{2, 2}};
        options.strides = {{2, 2}};
        options.layout = webnn::InputOperandLayout::kNhwc;
        return g->AveragePool2d(x, options);
      },
      cases);
  Add(
      kFloats, "maxPool2d 3x3/2 nhwc", {1, 112, 112, 64},
      [](GraphSketch& g, const Operand& x) {
        webnn::Pool2dOptions options;
        options.window_dimensions = {{3, 3}};
        options.padding = {{1, 1, 1, 1}};
        options.strides = {{2, 2}};
        options.layout = webnn::InputOperandLayout::kNhwc;
        return g->MaxPool2d(x, options);
      },
      cases);
  Add(
      kFloats, "averagePool2d 3x3 nhwc", {1, 35, 35, 288},
      [](GraphSketch& g, const Operand& x) {
        webnn::Pool2dOptions options;
        options.window_dimensions = {{3, 3}};
        options.padding = {{1, 1, 1, 1}};
        options.layout = webnn::InputOperandLayout::kNhwc;
        return g->AveragePool2d(x, options);
      },
      cases);
}

// --- Data movement
// ---------------------------------------------------------------------------------

void AddTranspose(const Shape& shape, const Axes& permutation, Cases& cases) {
  webnn::TransposeOptions options;
  options.permutation = permutation;
  Add(
      kMoved, fmt::format("transpose by {}", permutation), shape,
      [=](GraphSketch& g, const Operand& x) { return g->Transpose(x, options); }, cases);
}

void AddSlice(const Shape& shape, const Axes& starts, const Axes& sizes, const Axes& strides,
              Cases& cases) {
  webnn::SliceOptions options;
  options.strides = strides;
  Add(
      kMoved, fmt::format("slice from {} of {} by {} of", starts, sizes, strides), shape,
      [=](GraphSketch& g, const Operand& x) { return g->Slice(x, starts, sizes, options); }, cases);
}

void AddMovement(Cases& cases) {
  AddTranspose({1, 197, 12, 64}, {0, 2, 1, 3}, cases);
  AddTranspose({12, 197, 64}, {0, 2, 1}, cases);
  AddTranspose({16, 512, 8, 63}, {0, 2, 1, 3}, cases);
  AddTranspose({1023, 2047}, {1, 0}, cases);
  AddTranspose({1, 3, 224, 224}, {0, 2, 3, 1}, cases);
  AddTranspose({1, 224, 224, 3}, {0, 3, 1, 2}, cases);
  AddTranspose({1, 21, 512, 384}, {0, 2, 3, 1}, cases);
  AddTranspose({1, 10, 256, 256}, {0, 2, 3, 1}, cases);
  AddTranspose({1, 84, 8400}, {0, 2, 1}, cases);
  AddTranspose({1, 64, 2, 2, 128, 128}, {0, 1, 4, 2, 5, 3}, cases);
  AddTranspose({1, 64, 128, 2, 128, 2}, {0, 1, 3, 5, 2, 4}, cases);
  AddTranspose({1, 720, 1280, 3}, {0, 3, 1, 2}, cases);
  AddTranspose({1, 4, 512, 512}, {0, 2, 3, 1}, cases);
  AddTranspose({1, 512, 512, 4}, {0, 3, 1, 2}, cases);
  AddTranspose({1, 8, 7, 8, 7, 96}, {0, 1, 3, 2, 4, 5}, cases);
  AddTranspose({4, 6, 8, 10, 12, 24}, {4, 2, 0, 3, 1, 5}, cases);
  AddSlice({4096, 1024}, {0, 1}, {4096, 1023}, {1, 1}, cases);
  AddSlice({1, 64, 112, 112}, {0, 0, 0, 0}, {1, 64, 112, 112}, {1, 1, 2, 2}, cases);
  AddSlice({1, 640, 640, 3}, {0, 0, 0, 0}, {1, 640, 640, 3}, {1, 2, 2, 1}, cases);
  Add(
      kMoved, "expand to 4096 x 1023 of", {1, 1023},
      [](GraphSketch& g, const Operand& x) {
        return g->Expand(x, Shape{4096, 1023});
      },
      cases);
  Add(
      kMoved, "expand to 4096 x 1023 of", {4096, 1},
      [](GraphSketch& g, const Operand& x) {
        return g->Expand(x, Shape{4096, 1023});
      },
      cases);
  Add(
      kMoved, "tile by 1 x 3 of", {1024, 341},
      [](GraphSketch& g, const Operand& x) {
        return g->Tile(x, Shape{1, 3});
      },
      cases);
  Add(
      kMoved, "reverse by 1", {4096, 1023},
      [](GraphSketch& g, const Operand& x) {
        webnn::ReverseOptions options;
        options.axes = Axes{1};
        return g->Reverse(x, options);
      },
      cases);
  Add(
      kMoved, "concat by 1 with a column", {4096, 1023},
      [](GraphSketch& g, const Operand& x) {
        return g->Concat({x, g.Input(x.data_type(), {4096, 1})}, 1);
      },
      cases);
  Add(
      kMoved, "concat by 2 of heads", {1, 12, 1023, 64},
      [](GraphSketch& g, const Operand& x) {
        return g->Concat({x, g.Input(x.data_type(), {1, 12, 1, 64})}, 2);
      },
      cases);
  Add(
      kMoved, "pad by 1 nhwc", {1, 112, 112, 64},
      [](GraphSketch& g, const Operand& x) {
        return g->Pad(x, {0, 1, 1, 0}, {0, 1, 1, 0});
      },
      cases);
  Add(
      kMoved, "triangular", {12, 511, 511},
      [](GraphSketch& g, const Operand& x) { return g->Triangular(x); }, cases);
}

// --- Element by element
// ----------------------------------------------------------------------------

void AddElementwise(Cases& cases) {
  Add(
      kFloats, "prelu by channel", {1, 64, 112, 112},
      [](GraphSketch& g, const Operand& x) {
        return g->Prelu(x, g.Constant(x.data_type(), {64, 1, 1}));
      },
      cases);
  Add(
      kFloats, "add of a row to", {12, 512, 77},
      [](GraphSketch& g, const Operand& x) { return g->Add(x, g.Input(x.data_type(), {77})); },
      cases);
  Add(
      kFloats, "add of a mask to", {12, 197, 197},
      [](GraphSketch& g, const Operand& x) {
        return g->Add(x, g.Input(x.data_type(), {1, 197, 197}));
      },
      cases);
  Add(
      kFloats, "where of a mask, else a constant,", {12, 197, 197},
      [](GraphSketch& g, const Operand& x) {
        return g->Where(g.Input(OperandDataType::kUint8, {1, 197, 197}), x,
                        g.Constant(x.data_type(), {1}));
      },
      cases);
  Add(
      kFloats, "scale and mask in one kernel of", {12, 197, 197},
      [](GraphSketch& g, const Operand& x) {
        const Operand scaled = Must(g->Mul(x, g.Constant(x.data_type(), {1})));
        return g->Add(scaled, g.Input(x.data_type(), {1, 197, 197}));
      },
      cases);
  Add(
      kFloats, "mul by a column of", {4096, 1023},
      [](GraphSketch& g, const Operand& x) {
        return g->Mul(x, g.Input(x.data_type(), {4096, 1}));
      },
      cases);
  Add(
      kFloats, "mul by channel, nhwc, of", {1, 112, 112, 24},
      [](GraphSketch& g, const Operand& x) {
        return g->Mul(x, g.Input(x.data_type(), {1, 1, 1, 24}));
      },
      cases);
  Add(
      kFloats, "add of outer rows", {1024, 1},
      [](GraphSketch& g, const Operand& x) {
        return g->Add(x, g.Input(x.data_type(), {1, 1023}));
      },
      cases);
}

// --- Images of an odd number of pixels
// --------------------------------------------------------------------------------

void AddOddImages(Cases& cases) {
  const Shape shape = {8, 64, 35, 35};
  const auto add = [&](const char* what, const Apply& apply) {
    Add(kFloats, what, shape, apply, cases);
  };
  add("batchNormalization by 1", [](GraphSketch& g, const Operand& x) {
    return g->BatchNormalization(x, g.Constant(x.data_type(), {64}),
                                 g.Constant(x.data_type(), {64}));
  });
  add("instanceNormalization nchw",
      [](GraphSketch& g, const Operand& x) { return g->InstanceNormalization(x); });
  add("prelu by channel", [](GraphSketch& g, const Operand& x) {
    return g->Prelu(x, g.Constant(x.data_type(), {64, 1, 1}));
  });
  add("mul by channel", [](GraphSketch& g, const Operand& x) {
    return g->Mul(x, g.Input(x.data_type(), {8, 64, 1, 1}));
  });
  add("greater than a channel", [](GraphSketch& g, const Operand& x) {
    return g->Greater(x, g.Input(x.data_type(), {8, 64, 1, 1}));
  });
  add("averagePool2d 3x3 nchw", [](GraphSketch& g, const Operand& x) {
    webnn::Pool2dOptions options;
    options.window_dimensions = {{3, 3}};
    options.padding = {{1, 1, 1, 1}};
    return g->AveragePool2d(x, options);
  });
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, shape, {2, 3}, cases);
  AddReduction("reduceMean", &webnn::GraphBuilder::ReduceMean, shape, {1}, cases);
  AddLayerNormalization({512, 12, 77}, {2}, true, cases);
  Add(
      kMoved, "gather of 2048 rows of", {4096, 77},
      [](GraphSketch& g, const Operand& x) { return g->Gather(x, g.Input(kInt32, {2048}, 4096)); },
      cases);
  Add(
      kMoved, "gatherElements by the last axis of", {4096, 77},
      [](GraphSketch& g, const Operand& x) {
        webnn::GatherOptions options;
        options.axis = 1;
        return g->GatherElements(x, g.Input(kInt32, {4096, 77}, 77), options);
      },
      cases);
  Add(
      kMoved, "gatherElements by the first axis of", {8192, 512},
      [](GraphSketch& g, const Operand& x) {
        return g->GatherElements(x, g.Input(kInt32, {8192, 512}, 8192));
      },
      cases);
  Add(
      kMoved, "scatterElements of a quarter by the first axis of", {8192, 512},
      [](GraphSketch& g, const Operand& x) {
        return g->ScatterElements(x, g.Input(kInt32, {2048, 512}, 8192),
                                  g.Input(x.data_type(), {2048, 512}));
      },
      cases);
  Add(
      kMoved, "scatterND of 1024 rows into", {4096, 77},
      [](GraphSketch& g, const Operand& x) {
        return g->ScatterND(x, g.Input(kInt32, {1024, 1}, 4096),
                            g.Input(x.data_type(), {1024, 77}));
      },
      cases);
}

}  // namespace

std::vector<OperatorCase> ShapeCases() {
  Cases cases;
  AddReductions(cases);
  AddNormalizations(cases);
  AddImages(cases);
  AddMovement(cases);
  AddElementwise(cases);
  AddOddImages(cases);
  return cases;
}

}  // namespace webnnd::benchmarks
