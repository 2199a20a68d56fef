// What calls of kernels that go along an axis have in common (shaders/rows.glsl,
// shaders/interleaved_tiles.glsl): who takes a row, by how many elements at once, and in which
// tiles.
#ifndef WEBNND_SERVICE_PASSES_ROW_CALLS_H_
#define WEBNND_SERVICE_PASSES_ROW_CALLS_H_

#include <cstdint>
#include <vector>

#include "service/passes/axis_view.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Of a family with a shader for each ComputeClass, of which `float_shader` is the first.
shaders::ShaderId ShaderOfClass(shaders::ShaderId float_shader, webidl::OperandDataType type);

// Whether a workgroup shares a row of `length` elements, `stride` apart. Neighbouring invocations
// then read neighbouring elements of one row, else (one invocation a row) the same element of
// neighbouring rows: better where rows are interleaved, unless there are too few of them.
bool SharesRow(uint64_t length, uint64_t rows, uint64_t stride, bool wide,
               uint64_t alone_max = kAloneMax);

// Work counted in rows: workgroups or invocations.
void SetRows(LoweredCall& call, uint64_t rows, bool shares_row);

// Whether fours of interleaved rows are quads, in loops that turn for every element of a row or,
// twice, for every fourth.
bool TakesFoursOfRows(const AxisView& view);

// How many times kLanesMax of shaders/held_rows.glsl the elements of a row in one piece are at
// most, if llvmpipe's subgroups have it in registers, else 0. Rows that fill less than half a vector
// wait for what others do for nothing.
uint32_t CountRowVectors(const AxisView& view, bool wide);

// What a subgroup has of such rows in its kernel, so that it has no others for other sizes of a
// dynamic graph: kRowVectors and kWholeVectors of shaders/held_rows.glsl.
struct HeldVectors {
  uint32_t most = 0;  // 0: it holds none.
  uint32_t least = 0;

  // Of a row that CountRowVectors is `count` for.
  static HeldVectors Choose(uint32_t count, bool has_other_sizes);
};

// Whether rows are quads, in a loop that turns for every four or, shared, for less.
bool LiesInFours(const AxisView& view);

// Fours of neighbouring rows that an invocation takes of rows that are interleaved, `inner` of
// them, and how far from each other (FirstOfFours of shaders/tensor.glsl): several, if there are
// enough for all invocations.
struct FoursOfRows {
  uint32_t count = 1;
  uint32_t apart = 1;

  static FoursOfRows Choose(uint32_t inner, uint64_t rows, bool wide);
  static FoursOfRows Choose(const AxisView& view, bool wide) {
    return Choose(view.inner, view.rows, wide);
  }
};

// How GPUs divide interleaved rows between workgroups (shaders/interleaved_tiles.glsl).
struct RowTiles {
  uint32_t across = 1;   // Tiles side by side behind the axis.
  uint32_t along = 1;    // Along the axis.
  uint32_t stretch = 1;  // Of the axis, of each but the last.
  uint32_t fours = 1;    // Behind the axis.
  uint32_t count = 0;

  // Of stretches of no less than `stretch_min`.
  static RowTiles Choose(const AxisView& view, uint32_t stretch_min);
  std::vector<uint32_t> Parameters(const AxisView& view) const;
};

// Whether GPUs take interleaved rows by tiles: with an invocation for each four of them, as they
// take more of them, too few would have work.
bool TakesRowTiles(const AxisView& view, bool wide);

// Invocations for `units` that a subgroup takes each.
inline uint64_t SubgroupsFor(uint64_t units) { return units * kSubgroupInvocations; }

// A call of a kernel of shaders/rows.glsl; its specialisation is up to the caller.
LoweredCall MakeRowsCall(shaders::ShaderId shader, const Node& node, const AxisView& view,
                         bool shares_row);

// NotSupported where an invocation that goes `passes` times over its share of an axis would loop
// for longer than kInvocationIterationsMax.
Status CheckLoops(const AxisView& view, bool shares_row, uint32_t passes, bool narrow);

// Rows that go by words one by one (STORE_ROWS_BY_WORDS of shaders/by_words.glsl), or by elements,
// have so many at least: shorter ones leave lanes of a vector idle.
inline constexpr uint32_t kWordsOfRowMin = 16;
// Of how many vectors a turn is best, where rows have so many words, or elements.
uint32_t VectorsOfTurn(uint32_t words, const LoweringBuilder& builder);
// Iterations for a row of so many elements, by all lanes together: some per cent more at most.
uint64_t LaneTurnsOfRow(uint32_t length, size_t dimensions);

// Iterations for `rows` rows of so many words that CopyRow of shaders/row_copy.glsl copies, by all
// lanes together at most, where finding a row's place takes `turns_besides`.
uint64_t RowCopyLaneTurns(uint64_t rows, uint64_t words, uint64_t turns_besides);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_ROW_CALLS_H_
