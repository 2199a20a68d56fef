// result[n] = alpha * sum over k of x[k] * w[n, k] + beta * addend[n], for each of up to MATRICES
// weights w that share x; with -DGATED=1 result[n] = silu(gate[n]) * up[n] of the two products.
// Slots: 1 x; from 2 on w, addend (x again where there is none) and result of each matrix in turn,
// the gate before up; and the gain. Sums are float32.
//
// Where it normalizes, x is first divided by sqrt(mean(x * x) + epsilon) and multiplied by the gain
// (RmsNormalization of service/graph/macro.h): each subgroup finds the divisor for itself, which is
// less work than a kernel of its own is to start, and divides sums, not elements.
//
// A kernel that reads each weight once waits for memory. So the invocations of a subgroup lie
// along k and load 16 bytes each, and on llvmpipe (wide_gemv.glsl has what GPUs do) a subgroup reads
// from kStreams places, each of which goes on from row to row through a stretch of memory, which is
// what prefetchers see.
//
// Parameters: 0 loads of 16 bytes in x, and in a row of w; 1 alpha; 2 beta; 3 epsilon; from uvec4 1 on
// for each matrix: rows of w, stride of the addend. Specialisation constants: 1 data type; 2 bit j:
// whether matrix j has an addend; 3 whether it normalizes; 4, on GPUs, rows of a subgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"

#include "math.glsl"
#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kAddends = 0u;
layout(constant_id = 3) const uint kNormalizes = 0u;

#define DECLARE_MATRIX(weights, addend, result) \
  READ_SLOT(weights)                            \
  READ_SLOT_WIDE(weights)                       \
  READ_SLOT(addend)                             \
  WRITE_SLOT(result)

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_MATRIX(2, 3, 4)
#if GATED
READ_SLOT(5)
READ_SLOT_WIDE(5)
READ_SLOT(6)
READ_SLOT_WIDE(6)
#define LOAD_GAIN(quad) LOAD_QUAD(6, quad)
#elif MATRICES == 3
DECLARE_MATRIX(5, 6, 7)
DECLARE_MATRIX(8, 9, 10)
READ_SLOT(11)
READ_SLOT_WIDE(11)
#define LOAD_GAIN(quad) LOAD_QUAD(11, quad)
#else
READ_SLOT(5)
READ_SLOT_WIDE(5)
#define LOAD_GAIN(quad) LOAD_QUAD(5, quad)
#endif

// `matrix` is known at compile time here and below: only one of these loads remains.
uvec4 LoadWeights(uint matrix, uint quad) {
#if MATRICES > 1
  if (matrix == 1u) return LOAD_QUAD(5, quad);
#endif
#if MATRICES > 2
  if (matrix == 2u) return LOAD_QUAD(8, quad);
#endif
  return LOAD_QUAD(2, quad);
}

float LoadAddend(uint matrix, uint e) {
#if MATRICES > 2
  if (matrix == 1u) return LOAD(6, kType, e);
  if (matrix == 2u) return LOAD(9, kType, e);
#endif
  return LOAD(3, kType, e);
}

void StoreElement(uint matrix, uint e, float value) {
  const uvec2 bits = Encode(value, kType);
#if MATRICES > 2
  if (matrix == 1u) STORE_ELEMENT(7, kType, e, bits)
  if (matrix == 2u) STORE_ELEMENT(10, kType, e, bits)
#endif
  if (matrix == 0u) STORE_ELEMENT(4, kType, e, bits)
}

// Elements of four words: 4, or 8 of float16.
struct Elements {
  vec4 of[2];
};

Elements DecodeQuad(uvec4 quad) {
  Elements elements;
  if (kType == kFloat16) {
    elements.of[0] = vec4(unpackHalf2x16(quad.x), unpackHalf2x16(quad.y));
    elements.of[1] = vec4(unpackHalf2x16(quad.z), unpackHalf2x16(quad.w));
  } else {
    elements.of[0] = uintBitsToFloat(quad);
    elements.of[1] = vec4(0.0);
  }
  return elements;
}

Elements LoadX(uint quad) {
  Elements x = DecodeQuad(LOAD_QUAD(1, quad));
  if (kNormalizes != 0u) {
    Elements gain = DecodeQuad(LOAD_GAIN(quad));
    [[unroll]] for (uint i = 0u; i < 2u; ++i) x.of[i] *= gain.of[i];
  }
  return x;
}

float AddProducts(Elements a, Elements b, float sum) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) sum = fma(a.of[0][i], b.of[0][i], sum);
  if (kType == kFloat16) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sum = fma(a.of[1][i], b.of[1][i], sum);
  }
  return sum;
}

#if TENSOR_READS == READS_TEXELS

const uint kStreams = 8u;
// Streams through one matrix; the gated kernel reads from both matrices at once.
#if GATED
const uint kStreamsEach = kStreams / 2u;
#else
const uint kStreamsEach = kStreams;
#endif

// A row of each stream: where this invocation's first four words are, and this one's share of the
// products.
struct Rows {
  uint quads[kStreams];
  float sums[kStreams];
};

uint MatrixOf(uint first_matrix, uint stream) { return first_matrix + stream / kStreamsEach; }

Rows MakeRows(uint first_row, uint distance, uint row_count) {
  Rows rows;
  [[unroll]] for (uint i = 0u; i < kStreams; ++i) {
    // Beyond the last row the last one stands in: nobody stores what comes of it.
    uint row = min(first_row + (i % kStreamsEach) * distance, row_count - 1u);
    rows.quads[i] = row * P(0) + gl_SubgroupInvocationID;
    rows.sums[i] = 0.0;
  }
  return rows;
}

void AddSteps(uint first_matrix, Elements x, uint k, inout Rows rows) {
  [[unroll]] for (uint i = 0u; i < kStreams; ++i) {
    Elements w = DecodeQuad(LoadWeights(MatrixOf(first_matrix, i), rows.quads[i] + k));
    rows.sums[i] = AddProducts(x, w, rows.sums[i]);
  }
}

// What is left of the rows where their length is no multiple of the subgroup's. Invocations beyond
// the end load what is at the start, and add nothing.
void AddLastSteps(uint first_matrix, uint k, inout Rows rows) {
  const uint lane = gl_SubgroupInvocationID;
  const bool inside = k + lane < P(0);
  Elements x = LoadX(inside ? k + lane : 0u);
  [[unroll]] for (uint i = 0u; i < kStreams; ++i) {
    uint at = inside ? rows.quads[i] + k : rows.quads[i] - lane;
    Elements w = DecodeQuad(LoadWeights(MatrixOf(first_matrix, i), at));
    float sum = AddProducts(x, w, rows.sums[i]);
    rows.sums[i] = inside ? sum : rows.sums[i];
  }
}

void AddRows(uint first_matrix, inout Rows rows) {
  const uint whole = P(0) / SUBGROUP_SIZE * SUBGROUP_SIZE;
  for (uint k = UNKNOWN_ZERO; k < whole; k += SUBGROUP_SIZE) {
    Elements x = LoadX(k + gl_SubgroupInvocationID);
    AddSteps(first_matrix, x, k, rows);
  }
  // Once at most; drivers that run both sides of a branch skip loops.
  for (uint k = whole + UNKNOWN_ZERO; k < P(0); k += SUBGROUP_SIZE) AddLastSteps(first_matrix, k, rows);
}

// The sums over all invocations of the subgroup: of stream i modulo 8 in invocation i. Neighbours
// swap what the other one keeps, so that each step adds half as many as the one before.
float TransposedSums(float sums[kStreams]) {
  [[unroll]] for (uint step = 1u; step < kStreams; step *= 2u) {
    const bool upper = (gl_SubgroupInvocationID & step) != 0u;
    [[unroll]] for (uint i = 0u; i < kStreams / (2u * step); ++i) {
      float kept = upper ? sums[2u * i + 1u] : sums[2u * i];
      float given = upper ? sums[2u * i] : sums[2u * i + 1u];
      sums[i] = kept + subgroupShuffleXor(given, step);
    }
  }
  for (uint step = kStreams; step < SUBGROUP_SIZE; step *= 2u) {
    sums[0] += subgroupShuffleXor(sums[0], step);
  }
  return sums[0];
}

// What sums are multiplied by.
float FindScale() {
  const float alpha = uintBitsToFloat(P(1));
  if (kNormalizes == 0u) return alpha;
  float squares = 0.0;
  // Those who have nothing left load again what is at the start.
  for (uint k = UNKNOWN_ZERO; k < P(0); k += SUBGROUP_SIZE) {
    const bool inside = k + gl_SubgroupInvocationID < P(0);
    Elements x = DecodeQuad(LOAD_QUAD(1, inside ? k + gl_SubgroupInvocationID : 0u));
    float sum = AddProducts(x, x, squares);
    squares = inside ? sum : squares;
  }
  const float count = float(P(0) * (kType == kFloat16 ? 8u : 4u));
  return alpha / sqrt(SumOverSubgroup(squares) / count + uintBitsToFloat(P(3)));
}

#endif

void Store(uint matrix, uint row, float value) {
  if ((kAddends & (1u << matrix)) != 0u) {
    value += uintBitsToFloat(P(2)) * LoadAddend(matrix, row * P(4u * matrix + 5u));
  }
  StoreElement(matrix, row, value);
}

float Silu(float x) { return x * Sigmoid(x); }

#if TENSOR_READS == READS_STORAGE

#include "wide_gemv.glsl"

#else

// `lane` is the stream whose sum this is, where the kernel is gated the gate's.
void StoreSum(uint matrix, uint stream, uint first_row, uint distance, float scale, float sum,
              float up) {
  uint row = first_row + stream * distance;
  sum *= scale;
#if GATED
  sum = Silu(sum) * (scale * up);
#endif
  if (stream < kStreamsEach && row < P(4u * matrix + 4u)) Store(matrix, row, sum);
}

void StoreRows(uint matrix, uint first_row, uint distance, float scale, Rows rows) {
  const uint lane = gl_SubgroupInvocationID;
  if (SUBGROUP_SIZE >= kStreams) {
    float sum = TransposedSums(rows.sums);
    float up = subgroupShuffleXor(sum, kStreamsEach & (kStreams - 1u));
    StoreSum(matrix, lane, first_row, distance, scale, sum, up);
  } else {
    [[unroll]] for (uint i = 0u; i < kStreamsEach; ++i) {
      float sum = SumOverSubgroup(rows.sums[i]);
      float up = SumOverSubgroup(rows.sums[(i + kStreamsEach) & (kStreams - 1u)]);
      StoreSum(matrix, lane == 0u ? i : kStreams, first_row, distance, scale, sum, up);
    }
  }
}

// Each subgroup of the grid takes a stretch of rows, and each of its streams a part of that.
void ComputeMatrix(uint matrix, float scale) {
  const uint rows_of_matrix = P(4u * matrix + 4u);
  const uint streams = kStreamsEach * gl_NumSubgroups * gl_NumWorkGroups.x;
  const uint distance = (rows_of_matrix + streams - 1u) / streams;
  const uint subgroup = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
  const uint first = subgroup * kStreamsEach * distance;
  const uint end = min(first + distance, rows_of_matrix);
  for (uint row = first; row < end; ++row) {
    Rows rows = MakeRows(row, distance, rows_of_matrix);
    AddRows(matrix, rows);
    StoreRows(matrix, row, distance, scale, rows);
  }
}

void main() {
  const float scale = FindScale();
  ComputeMatrix(0u, scale);
#if MATRICES > 2
  ComputeMatrix(1u, scale);
  ComputeMatrix(2u, scale);
#endif
}

#endif
