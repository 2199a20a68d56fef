#include "tools/benchmarks/operator_cases.h"

#include <utility>

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;
using Cases = std::vector<OperatorCase>;

constexpr auto kFloat32 = OperandDataType::kFloat32;
constexpr auto kFloat16 = OperandDataType::kFloat16;

// 16 MiB of float32.
const Shape k16MiB = {4096, 1024};
const Shape k16MiBOfHalves = {8192, 1024};

const char* TypeName(OperandDataType type) { return type == kFloat16 ? "float16" : "float32"; }

// --- Multiply-adds ------------------------------------------------------------------------------

OperatorCase Matmul(uint32_t n, OperandDataType type, bool constant_b) {
  std::string name = "matmul " + std::to_string(n) + " " + TypeName(type);
  return {name + (constant_b ? ", b constant" : ""), [=](GraphSketch& g) {
            Operand a = g.Input(type, {n, n});
            Operand b = constant_b ? g.Constant(type, {n, n}) : g.Input(type, {n, n});
            g.CountMultiplyAdds(1.0 * n * n * n);
            g.Output(Must(g->Matmul(a, b)));
          }};
}

OperatorCase Gemm(uint32_t n, OperandDataType type, bool a_transpose, bool b_transpose) {
  std::string name = "gemm " + std::to_string(n) + " " + TypeName(type) + ", c";
  return {name + (a_transpose ? ", a transposed" : "") + (b_transpose ? ", b transposed" : ""),
          [=](GraphSketch& g) {
            webnn::GemmOptions options;
            options.c = g.Input(type, {n});
            options.a_transpose = a_transpose;
            options.b_transpose = b_transpose;
            g.CountMultiplyAdds(1.0 * n * n * n);
            g.Output(Must(g->Gemm(g.Input(type, {n, n}), g.Input(type, {n, n}), options)));
          }};
}

struct Convolution {
  const char* name;
  uint32_t input_channels;
  uint32_t output_channels;
  uint32_t size;    // Of the input, both ways.
  uint32_t window;  // Both ways.
  uint32_t stride = 1;
  bool depthwise = false;
  bool nhwc = false;
  OperandDataType type = kFloat32;
  uint32_t dilation = 1;  // Both ways; where not 1, the stride is.
};

OperatorCase Conv2d(Convolution c) {
  std::string name = c.name + std::string(c.nhwc ? " nhwc " : " nchw ") + TypeName(c.type);
  return {name, [c](GraphSketch& g) {
            uint32_t per_group = c.depthwise ? 1 : c.input_channels;
            uint32_t output_size = c.size / c.stride;
            webnn::Conv2dOptions options;
            uint32_t before = (c.window - 1) * c.dilation / 2;
            uint32_t after = c.stride == 1 ? before : c.window - c.stride - before;
            options.padding = {{before, after, before, after}};
            options.strides = {{c.stride, c.stride}};
            options.dilations = {{c.dilation, c.dilation}};
            options.groups = c.depthwise ? c.input_channels : 1;
            options.bias = g.Constant(c.type, {c.output_channels});
            Shape input = {1, c.input_channels, c.size, c.size};
            Shape filter = {c.output_channels, per_group, c.window, c.window};
            if (c.nhwc) {
              options.input_layout = webnn::InputOperandLayout::kNhwc;
              options.filter_layout = c.depthwise ? webnn::Conv2dFilterOperandLayout::kIhwo
                                                  : webnn::Conv2dFilterOperandLayout::kOhwi;
              input = {1, c.size, c.size, c.input_channels};
              filter = c.depthwise ? Shape{1, c.window, c.window, c.output_channels}
                                   : Shape{c.output_channels, c.window, c.window, per_group};
            }
            g.CountMultiplyAdds(1.0 * output_size * output_size * c.output_channels * per_group *
                                c.window * c.window);
            g.Output(Must(g->Conv2d(g.Input(c.type, input), g.Constant(c.type, filter), options)));
          }};
}

OperatorCase ConvTranspose2d(const char* name, uint32_t channels, uint32_t size, uint32_t window,
                             uint32_t stride, uint32_t groups = 1) {
  return {name, [=](GraphSketch& g) {
            webnn::ConvTranspose2dOptions options;
            uint32_t padding = (window - stride) / 2;
            options.padding = {{padding, padding, padding, padding}};
            options.strides = {{stride, stride}};
            options.groups = groups;
            const uint32_t per_group = channels / groups;
            g.CountMultiplyAdds(1.0 * size * size * channels * per_group * window * window);
            Operand filter = g.Constant(kFloat32, {channels, per_group, window, window});
            g.Output(Must(
                g->ConvTranspose2d(g.Input(kFloat32, {1, channels, size, size}), filter, options)));
          }};
}

void AddRecurrent(Cases& cases) {
  constexpr uint32_t kSteps = 32;
  constexpr uint32_t kHidden = 256;
  for (const OperandDataType type : {kFloat32, kFloat16}) {
    const std::string name = "lstm 32 steps, 256 hidden";
    cases.push_back({type == kFloat32 ? name : name + " " + TypeName(type), [type](GraphSketch& g) {
                       g.CountMultiplyAdds(1.0 * kSteps * 4 * kHidden * (kHidden + kHidden));
                       auto results = Must(g->Lstm(g.Input(type, {kSteps, 1, kHidden}),
                                                   g.Constant(type, {1, 4 * kHidden, kHidden}),
                                                   g.Constant(type, {1, 4 * kHidden, kHidden}),
                                                   kSteps, kHidden));
                       g.Output(results[0]);
                     }});
  }
  cases.push_back({"gru 32 steps, 256 hidden", [](GraphSketch& g) {
                     g.CountMultiplyAdds(1.0 * kSteps * 3 * kHidden * (kHidden + kHidden));
                     auto results = Must(g->Gru(g.Input(kFloat32, {kSteps, 1, kHidden}),
                                                g.Constant(kFloat32, {1, 3 * kHidden, kHidden}),
                                                g.Constant(kFloat32, {1, 3 * kHidden, kHidden}),
                                                kSteps, kHidden));
                     g.Output(results[0]);
                   }});
}

void AddMultiplyAdds(Cases& cases) {
  for (uint32_t n : {512u, 1024u}) {
    cases.push_back(Matmul(n, kFloat32, /*constant_b=*/false));
    cases.push_back(Matmul(n, kFloat32, /*constant_b=*/true));
    cases.push_back(Matmul(n, kFloat16, /*constant_b=*/true));
    cases.push_back(Gemm(n, kFloat32, /*a_transpose=*/false, /*b_transpose=*/false));
    cases.push_back(Gemm(n, kFloat32, /*a_transpose=*/false, /*b_transpose=*/true));
  }
  cases.push_back(Gemm(1024, kFloat32, /*a_transpose=*/true, /*b_transpose=*/false));
  cases.push_back(Gemm(1024, kFloat16, /*a_transpose=*/false, /*b_transpose=*/true));
  cases.push_back({"matmul 16 x [256, 64] x [64, 256]", [](GraphSketch& g) {
                     g.CountMultiplyAdds(16.0 * 256 * 64 * 256);
                     g.Output(Must(g->Matmul(g.Input(kFloat32, {16, 256, 64}),
                                             g.Input(kFloat32, {16, 64, 256}))));
                   }});
  for (bool nhwc : {false, true}) {
    cases.push_back(Conv2d({"conv2d 3x3 64->64 at 56", 64, 64, 56, 3, 1, false, nhwc}));
    cases.push_back(Conv2d({"conv2d 1x1 512->512 at 14", 512, 512, 14, 1, 1, false, nhwc}));
    cases.push_back(Conv2d({"conv2d depthwise 3x3 128 at 56", 128, 128, 56, 3, 1, true, nhwc}));
  }
  cases.push_back(Conv2d({"conv2d depthwise 3x3 512 at 14", 512, 512, 14, 3, 1, true}));
  cases.push_back(Conv2d({"conv2d depthwise 3x3 960 at 7", 960, 960, 7, 3, 1, true}));
  cases.push_back(Conv2d({"conv2d depthwise 3x3/2 96 at 112", 96, 96, 112, 3, 2, true}));
  cases.push_back(Conv2d({"conv2d depthwise 3x3/2 192 at 28", 192, 192, 28, 3, 2, true}));
  cases.push_back(Conv2d({"conv2d depthwise 3x3/2 576 at 14", 576, 576, 14, 3, 2, true}));
  for (bool nhwc : {false, true}) {
    cases.push_back(Conv2d({"conv2d depthwise 5x5 120 at 56", 120, 120, 56, 5, 1, true, nhwc}));
    cases.push_back(Conv2d({"conv2d depthwise 7x7 96 at 56", 96, 96, 56, 7, 1, true, nhwc}));
    cases.push_back(Conv2d({"conv2d depthwise 3x3 dilated by 2, 128 at 56", 128, 128, 56, 3, 1,
                            true, nhwc, kFloat32, 2}));
    cases.push_back(Conv2d({"conv2d 3x3 64->3 at 112", 64, 3, 112, 3, 1, false, nhwc}));
  }
  cases.push_back(Conv2d({"conv2d 1x1 24->144 at 56", 24, 144, 56, 1}));
  cases.push_back(Conv2d({"conv2d 1x1 320->1280 at 7", 320, 1280, 7, 1}));
  cases.push_back(Conv2d({"conv2d 3x3 64->64 at 56", 64, 64, 56, 3, 1, false, false, kFloat16}));
  cases.push_back(Conv2d({"conv2d 3x3/2 3->32 at 224", 3, 32, 224, 3, 2}));
  cases.push_back(Conv2d({"conv2d 3x3/2 3->32 at 224", 3, 32, 224, 3, 2, false, true}));
  cases.push_back(Conv2d({"conv2d 7x7/2 3->64 at 224", 3, 64, 224, 7, 2}));
  cases.push_back(ConvTranspose2d("convTranspose2d 2x2/2 64->64 at 28", 64, 28, 2, 2));
  cases.push_back(ConvTranspose2d("convTranspose2d 4x4/2 64->64 at 28", 64, 28, 4, 2));
  cases.push_back(ConvTranspose2d("convTranspose2d depthwise 4x4/2 64 at 28", 64, 28, 4, 2, 64));
  AddRecurrent(cases);
}

// --- Bytes --------------------------------------------------------------------------------------

using Unary = Result<Operand> (*)(GraphSketch&, const Operand&);

// One input of `shape`, one output.
OperatorCase OfOne(std::string name, Unary unary, Shape shape = k16MiB,
                   OperandDataType type = kFloat32) {
  return {std::move(name), [=](GraphSketch& g) { g.Output(Must(unary(g, g.Input(type, shape)))); }};
}

using Binary = Result<Operand> (*)(GraphSketch&, const Operand&, const Operand&);

OperatorCase OfTwo(std::string name, Binary binary, Shape a = k16MiB, Shape b = k16MiB,
                   OperandDataType type = kFloat32) {
  return {std::move(name),
          [=](GraphSketch& g) { g.Output(Must(binary(g, g.Input(type, a), g.Input(type, b)))); }};
}

void AddUnary(Cases& cases) {
  cases.push_back(OfOne("relu 16 MiB", [](auto& g, auto& x) { return g->Relu(x); }));
  cases.push_back(OfOne("sqrt 16 MiB", [](auto& g, auto& x) { return g->Sqrt(x); }));
  cases.push_back(OfOne("exp 16 MiB", [](auto& g, auto& x) { return g->Exp(x); }));
  cases.push_back(OfOne("tanh 16 MiB", [](auto& g, auto& x) { return g->Tanh(x); }));
  cases.push_back(OfOne("sigmoid 16 MiB", [](auto& g, auto& x) { return g->Sigmoid(x); }));
  cases.push_back(OfOne("gelu 16 MiB", [](auto& g, auto& x) { return g->Gelu(x); }));
  cases.push_back(OfOne("sin 16 MiB", [](auto& g, auto& x) { return g->Sin(x); }));
  cases.push_back(OfOne("clamp 16 MiB", [](auto& g, auto& x) {
    webnn::ClampOptions options;
    options.min_value = 0.25;
    options.max_value = 0.75;
    return g->Clamp(x, options);
  }));
  cases.push_back(OfOne(
      "abs 16 MiB float16", [](auto& g, auto& x) { return g->Abs(x); }, k16MiBOfHalves, kFloat16));
  cases.push_back(OfOne(
      "gelu 16 MiB float16", [](auto& g, auto& x) { return g->Gelu(x); }, k16MiBOfHalves,
      kFloat16));
  cases.push_back(OfOne("isNaN 16 MiB", [](auto& g, auto& x) { return g->IsNaN(x); }));
  cases.push_back(OfOne("cast float32 to float16, 16 MiB",
                        [](auto& g, auto& x) { return g->Cast(x, kFloat16); }));
  cases.push_back(OfOne(
      "cast float16 to float32, 8 MiB", [](auto& g, auto& x) { return g->Cast(x, kFloat32); },
      k16MiB, kFloat16));
  cases.push_back(OfOne("cast float32 to int32, 16 MiB",
                        [](auto& g, auto& x) { return g->Cast(x, OperandDataType::kInt32); }));
  cases.push_back(OfOne("cast float32 to uint8, 16 MiB",
                        [](auto& g, auto& x) { return g->Cast(x, OperandDataType::kUint8); }));
}

void AddBinary(Cases& cases) {
  Binary add = [](GraphSketch& g, const Operand& a, const Operand& b) { return g->Add(a, b); };
  cases.push_back(OfTwo("add 2 x 16 MiB", add));
  cases.push_back(OfTwo("add 16 MiB and a scalar", add, k16MiB, {}));
  cases.push_back(OfTwo("add 16 MiB and a row", add, k16MiB, {1024}));
  cases.push_back(OfTwo("add [4096, 1023] and a row", add, {4096, 1023}, {1023}));
  cases.push_back(OfTwo("add 16 MiB and a column", add, k16MiB, {4096, 1}));
  cases.push_back(OfTwo("add [1, 64, 256, 256] and a channel", add, {1, 64, 256, 256}, {64, 1, 1}));
  cases.push_back(OfTwo("add 2 x 16 MiB float16", add, k16MiBOfHalves, k16MiBOfHalves, kFloat16));
  cases.push_back(
      OfTwo("add 2 x 16 MiB int64", add, {2048, 1024}, {2048, 1024}, OperandDataType::kInt64));
  cases.push_back(OfTwo("mul 2 x 16 MiB", [](auto& g, auto& a, auto& b) { return g->Mul(a, b); }));
  cases.push_back(OfTwo("div 2 x 16 MiB", [](auto& g, auto& a, auto& b) { return g->Div(a, b); }));
  cases.push_back(OfTwo("pow 2 x 16 MiB", [](auto& g, auto& a, auto& b) { return g->Pow(a, b); }));
  cases.push_back(OfTwo("prelu 16 MiB and a row",
                        [](auto& g, auto& a, auto& b) { return g->Prelu(a, b); }, k16MiB, {1024}));
  cases.push_back(
      OfTwo("greater 2 x 16 MiB", [](auto& g, auto& a, auto& b) { return g->Greater(a, b); }));
  cases.push_back({"where 2 x 16 MiB", [](GraphSketch& g) {
                     g.Output(Must(g->Where(g.Input(OperandDataType::kUint8, k16MiB),
                                            g.Input(kFloat32, k16MiB), g.Input(kFloat32, k16MiB))));
                   }});
}

OperatorCase Transpose(std::string name, Shape shape, std::vector<uint32_t> permutation,
                       OperandDataType type = kFloat32) {
  return {std::move(name), [=](GraphSketch& g) {
            webnn::TransposeOptions options;
            options.permutation = permutation;
            g.Output(Must(g->Transpose(g.Input(type, shape), options)));
          }};
}

void AddMovement(Cases& cases) {
  cases.push_back(Transpose("transpose [2048, 2048]", {2048, 2048}, {1, 0}));
  cases.push_back(Transpose("transpose [16, 512, 8, 64] by 0213", {16, 512, 8, 64}, {0, 2, 1, 3}));
  cases.push_back(
      Transpose("transpose nchw [1, 64, 256, 256] to nhwc", {1, 64, 256, 256}, {0, 2, 3, 1}));
  cases.push_back(
      Transpose("transpose nhwc [1, 256, 256, 64] to nchw", {1, 256, 256, 64}, {0, 3, 1, 2}));
  cases.push_back(Transpose("transpose [4096, 2048] float16", {4096, 2048}, {1, 0}, kFloat16));
  cases.push_back(Transpose("transpose [1, 64, 2, 2, 128, 128] by 014253", {1, 64, 2, 2, 128, 128},
                            {0, 1, 4, 2, 5, 3}));
  cases.push_back({"concat 2 x 8 MiB, axis 1", [](GraphSketch& g) {
                     g.Output(Must(g->Concat(
                         {g.Input(kFloat32, {4096, 512}), g.Input(kFloat32, {4096, 512})}, 1)));
                   }});
  cases.push_back({"slice 16 MiB, half of each row", [](GraphSketch& g) {
                     g.CountBytes(16 << 20);
                     g.Output(Must(g->Slice(g.Input(kFloat32, k16MiB), {0, 256}, {4096, 512})));
                   }});
  cases.push_back({"split 16 MiB in 4, axis 1", [](GraphSketch& g) {
                     webnn::SplitOptions options;
                     options.axis = 1;
                     auto parts = Must(g->Split(g.Input(kFloat32, k16MiB), 4u, options));
                     for (const Operand& part : parts) g.Output(part);
                   }});
  cases.push_back(
      {"pad [1, 64, 254, 254] by 1", [](GraphSketch& g) {
         g.Output(Must(g->Pad(g.Input(kFloat32, {1, 64, 254, 254}), {0, 0, 1, 1}, {0, 0, 1, 1})));
       }});
  cases.push_back(OfOne("tile [1024, 1024] by 2 x 2",
                        [](auto& g, auto& x) {
                          return g->Tile(x, {2, 2});
                        },
                        {1024, 1024}));
  cases.push_back(OfOne("expand a row to 16 MiB",
                        [](auto& g, auto& x) { return g->Expand(x, k16MiB); }, {1, 1024}));
  cases.push_back(OfOne("reverse 16 MiB", [](auto& g, auto& x) { return g->Reverse(x); }));
  cases.push_back(OfOne("triangular [2048, 2048]",
                        [](auto& g, auto& x) { return g->Triangular(x); }, {2048, 2048}));
}

void AddGather(Cases& cases) {
  constexpr auto kInt32 = OperandDataType::kInt32;
  constexpr double k16 = 16 << 20;
  cases.push_back(
      {"gather 4096 rows of 4 KiB", [](GraphSketch& g) {
         g.CountBytes(2 * k16);
         g.Output(Must(g->Gather(g.Input(kFloat32, {8192, 1024}), g.Input(kInt32, {4096}, 8192))));
       }});
  cases.push_back({"gatherElements 16 MiB, axis 0", [](GraphSketch& g) {
                     g.CountBytes(3 * k16);
                     g.Output(Must(g->GatherElements(g.Input(kFloat32, k16MiB),
                                                     g.Input(kInt32, k16MiB, 4096))));
                   }});
  cases.push_back({"gatherND 4096 rows of 4 KiB", [](GraphSketch& g) {
                     g.CountBytes(2 * k16);
                     g.Output(Must(g->GatherND(g.Input(kFloat32, {64, 64, 1024}),
                                               g.Input(kInt32, {4096, 2}, 64))));
                   }});
  cases.push_back({"scatterElements 4 MiB into 16 MiB, axis 0", [](GraphSketch& g) {
                     g.CountBytes(2 * k16 + 3 * k16 / 4);
                     g.Output(Must(g->ScatterElements(g.Input(kFloat32, k16MiB),
                                                      g.Input(kInt32, {1024, 1024}, 4096),
                                                      g.Input(kFloat32, {1024, 1024}))));
                   }});
  cases.push_back(
      {"scatterND 1024 rows into 16 MiB", [](GraphSketch& g) {
         g.CountBytes(2 * k16 + 2 * k16 / 4);
         g.Output(Must(g->ScatterND(g.Input(kFloat32, k16MiB), g.Input(kInt32, {1024, 1}, 4096),
                                    g.Input(kFloat32, {1024, 1024}))));
       }});
}

OperatorCase ReduceSum(std::string name, Shape shape, std::vector<uint32_t> axes) {
  return {std::move(name), [=](GraphSketch& g) {
            webnn::ReduceOptions options;
            options.axes = axes;
            g.Output(Must(g->ReduceSum(g.Input(kFloat32, shape), options)));
          }};
}

void AddReductions(Cases& cases) {
  const Shape cube = {256, 128, 128};
  cases.push_back(ReduceSum("reduceSum [256, 128, 128], axis 0", cube, {0}));
  cases.push_back(ReduceSum("reduceSum [256, 128, 128], axis 1", cube, {1}));
  cases.push_back(ReduceSum("reduceSum [256, 128, 128], axis 2", cube, {2}));
  cases.push_back(ReduceSum("reduceSum [256, 128, 128], all axes", cube, {0, 1, 2}));
  cases.push_back(OfOne("reduceMax 16 MiB, last axis", [](auto& g, auto& x) {
    webnn::ReduceOptions options;
    options.axes = {{1}};
    return g->ReduceMax(x, options);
  }));
  cases.push_back(OfOne("reduceMean nhwc [1, 112, 112, 64], pixels",
                        [](auto& g, auto& x) {
                          webnn::ReduceOptions options;
                          options.axes = {{1, 2}};
                          return g->ReduceMean(x, options);
                        },
                        {1, 112, 112, 64}));
  cases.push_back(OfOne("reduceMean 16 MiB, last axis", [](auto& g, auto& x) {
    webnn::ReduceOptions options;
    options.axes = {{1}};
    return g->ReduceMean(x, options);
  }));
  cases.push_back(OfOne(
      "reduceMean 16 MiB float16, last axis",
      [](auto& g, auto& x) {
        webnn::ReduceOptions options;
        options.axes = {{1}};
        return g->ReduceMean(x, options);
      },
      k16MiBOfHalves, kFloat16));
  cases.push_back(OfOne("argMax 16 MiB, axis 0", [](auto& g, auto& x) { return g->ArgMax(x, 0); }));
  cases.push_back(OfOne("argMax 16 MiB, axis 1", [](auto& g, auto& x) { return g->ArgMax(x, 1); }));
  cases.push_back(
      OfOne("argMax of 32768", [](auto& g, auto& x) { return g->ArgMax(x, 1); }, {1, 32768}));
  cases.push_back(OfOne("cumulativeSum 16 MiB, axis 0",
                        [](auto& g, auto& x) { return g->CumulativeSum(x, 0); }));
  cases.push_back(OfOne("cumulativeSum 16 MiB, axis 1",
                        [](auto& g, auto& x) { return g->CumulativeSum(x, 1); }));
  cases.push_back(OfOne(
      "cumulativeSum 16 MiB float16, axis 1",
      [](auto& g, auto& x) { return g->CumulativeSum(x, 1); }, k16MiBOfHalves, kFloat16));
}

void AddNormalizations(Cases& cases) {
  const Shape image = {1, 64, 256, 256};
  cases.push_back(
      OfOne("softmax 16 MiB, axis 1", [](auto& g, auto& x) { return g->Softmax(x, 1); }));
  cases.push_back(
      OfOne("softmax 16 MiB, axis 0", [](auto& g, auto& x) { return g->Softmax(x, 0); }));
  cases.push_back(OfOne("softmax [4096, 128], axis 0",
                        [](auto& g, auto& x) { return g->Softmax(x, 0); }, {4096, 128}));
  cases.push_back({"layerNormalization 16 MiB, last axis", [](GraphSketch& g) {
                     webnn::LayerNormalizationOptions options;
                     options.axes = {{1}};
                     options.scale = g.Constant(kFloat32, {1024});
                     options.bias = g.Constant(kFloat32, {1024});
                     g.Output(Must(g->LayerNormalization(g.Input(kFloat32, k16MiB), options)));
                   }});
  cases.push_back(
      {"batchNormalization [1, 64, 256, 256]", [=](GraphSketch& g) {
         webnn::BatchNormalizationOptions options;
         options.scale = g.Constant(kFloat32, {64});
         options.bias = g.Constant(kFloat32, {64});
         g.Output(Must(g->BatchNormalization(g.Input(kFloat32, image), g.Constant(kFloat32, {64}),
                                             g.Constant(kFloat32, {64}), options)));
       }});
  cases.push_back({"instanceNormalization [1, 64, 256, 256]", [=](GraphSketch& g) {
                     webnn::InstanceNormalizationOptions options;
                     options.scale = g.Constant(kFloat32, {64});
                     options.bias = g.Constant(kFloat32, {64});
                     g.Output(Must(g->InstanceNormalization(g.Input(kFloat32, image), options)));
                   }});
}

OperatorCase Resample(std::string name, webnn::InterpolationMode mode, Shape shape, float scale) {
  return {std::move(name), [=](GraphSketch& g) {
            webnn::Resample2dOptions options;
            options.mode = mode;
            options.scales = {{scale, scale}};
            g.Output(Must(g->Resample2d(g.Input(kFloat32, shape), options)));
          }};
}

void AddImages(Cases& cases) {
  using webnn::InterpolationMode;
  cases.push_back(Resample("resample2d nearest, 4 to 16 MiB", InterpolationMode::kNearestNeighbor,
                           {1, 16, 256, 256}, 2));
  cases.push_back(
      Resample("resample2d linear, 4 to 16 MiB", InterpolationMode::kLinear, {1, 16, 256, 256}, 2));
  cases.push_back(Resample("resample2d linear, 16 to 4 MiB", InterpolationMode::kLinear,
                           {1, 16, 512, 512}, 0.5f));
  cases.push_back(OfOne("maxPool2d 2x2/2 [1, 64, 256, 256]",
                        [](auto& g, auto& x) {
                          webnn::Pool2dOptions options;
                          options.window_dimensions = {{2, 2}};
                          options.strides = {{2, 2}};
                          return g->MaxPool2d(x, options);
                        },
                        {1, 64, 256, 256}));
  cases.push_back(OfOne("maxPool2d 5x5 [1, 64, 128, 128]",
                        [](auto& g, auto& x) {
                          webnn::Pool2dOptions options;
                          options.window_dimensions = {{5, 5}};
                          options.padding = {{2, 2, 2, 2}};
                          return g->MaxPool2d(x, options);
                        },
                        {1, 64, 128, 128}));
  cases.push_back(OfOne("averagePool2d 3x3/2 [1, 64, 256, 256]",
                        [](auto& g, auto& x) {
                          webnn::Pool2dOptions options;
                          options.window_dimensions = {{3, 3}};
                          options.strides = {{2, 2}};
                          return g->AveragePool2d(x, options);
                        },
                        {1, 64, 256, 256}));
  cases.push_back(OfOne("averagePool2d whole [1, 2048, 32, 32]",
                        [](auto& g, auto& x) { return g->AveragePool2d(x); }, {1, 2048, 32, 32}));
  cases.push_back(OfOne("l2Pool2d 2x2/2 [1, 64, 256, 256]",
                        [](auto& g, auto& x) {
                          webnn::Pool2dOptions options;
                          options.window_dimensions = {{2, 2}};
                          options.strides = {{2, 2}};
                          return g->L2Pool2d(x, options);
                        },
                        {1, 64, 256, 256}));
}

OperatorCase Dequantize(std::string name, OperandDataType type, Shape shape, Shape scale) {
  return {std::move(name), [=](GraphSketch& g) {
            g.Output(Must(g->DequantizeLinear(g.Constant(type, shape), g.Constant(kFloat32, scale),
                                              g.Constant(type, scale))));
          }};
}

void AddQuantized(Cases& cases) {
  using enum OperandDataType;
  cases.push_back(Dequantize("dequantizeLinear 4 MiB int8 by tensor", kInt8, k16MiB, {1, 1}));
  cases.push_back(Dequantize("dequantizeLinear 4 MiB int8 by row", kInt8, k16MiB, {4096, 1}));
  cases.push_back(
      Dequantize("dequantizeLinear 2 MiB int4 by blocks of 32", kInt4, k16MiB, {4096, 32}));
  cases.push_back(
      {"quantizeLinear 16 MiB to uint8", [](GraphSketch& g) {
         g.Output(Must(g->QuantizeLinear(g.Input(kFloat32, k16MiB), g.Constant(kFloat32, {1, 1}),
                                         g.Constant(kUint8, {1, 1}))));
       }});
  // A decoder's projection of one token: weights are read once, so bytes count.
  cases.push_back({"matmul 1 x [4096, 4096] float32, b constant", [](GraphSketch& g) {
                     g.Output(Must(g->Matmul(g.Input(kFloat32, {1, 4096}),
                                             g.Constant(kFloat32, {4096, 4096}))));
                   }});
  cases.push_back({"matmul [4096, 1024] x [1024, 1]", [](GraphSketch& g) {
                     g.Output(Must(g->Matmul(g.Input(kFloat32, {4096, 1024}),
                                             g.Constant(kFloat32, {1024, 1}))));
                   }});
}

}  // namespace

std::vector<OperatorCase> CopyCases() {
  return {OfOne("identity 16 MiB", [](auto& g, auto& x) { return g->Identity(x); }),
          OfOne("abs 16 MiB", [](auto& g, auto& x) { return g->Abs(x); }),
          OfTwo("concat 2 x 8 MiB, axis 0",
                [](auto& g, auto& a, auto& b) {
                  return g->Concat({a, b}, 0);
                },
                {2048, 1024}, {2048, 1024})};
}

std::vector<OperatorCase> OperatorCases() {
  Cases cases;
  AddMultiplyAdds(cases);
  for (OperatorCase& copy : CopyCases()) cases.push_back(std::move(copy));
  AddUnary(cases);
  AddBinary(cases);
  AddMovement(cases);
  AddGather(cases);
  AddReductions(cases);
  AddNormalizations(cases);
  AddImages(cases);
  AddQuantized(cases);
  return cases;
}

}  // namespace webnnd::benchmarks
