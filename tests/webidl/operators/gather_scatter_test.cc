#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

TEST(Gather, Indices_ReplaceTheAxis) {
  const auto axis = [](uint32_t axis) { return GatherAttributes{.axis = axis}; };
  ExpectOutcomes(
      OperatorKind::kGather,
      {{"float32[4,5] int32[2,3]", axis(0), "float32[2,3,5]"},
       {"float32[4,5] uint32[2,3]", axis(1), "float32[4,2,3]"},
       {"float32[4,5,6] int64[]", axis(1), "float32[4,6]"},
       {"uint4[4] int32[]", axis(0), "uint4[]"},
       {"float32[1,1,1,1,1,1,1,5] int32[2]", axis(7), "float32[1,1,1,1,1,1,1,2]"},
       {"float32[1,1,1,1,1,1,1,5] int32[2,2]", axis(7),
        "the rank (9) of the shape exceeds the maximum (8)"},
       {"float32[1,1,1,1,1,1,1,1] int32[1,1,1,1,1,1,1,1]", axis(0),
        "the rank (15) of the shape exceeds the maximum (8)"},
       {"float32[4,5] int32[2]", axis(2), "the axis (2) is not less than the rank of input (2)"},
       {"float32[] int32[2]", axis(0),
        "the rank of input (0) is not in its allowed range (1 to 8)"},
       {"float32[4] float32[2]", axis(0),
        "the data type of indices (float32) is not one of its allowed data types (int32, uint32, "
        "int64)"},
       {"float32[4] uint64[2]", axis(0),
        "the data type of indices (uint64) is not one of its allowed data types (int32, uint32, "
        "int64)"},
       {"float32[2,65536] int32[65536]", axis(0),
        "the byte length of float32[65536,65536] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(ScatterND, Updates_HaveTheShapeOfTheSlices) {
  ExpectOutcomes(
      OperatorKind::kScatterND,
      {{"float32[8] int32[4,1] float32[4]", "float32[8]"},
       {"float32[4,4,4] int64[2,1] float32[2,4,4]", "float32[4,4,4]"},
       {"float32[4,5,6] uint32[2,3,2] float32[2,3,6]", "float32[4,5,6]"},
       {"float32[4,5] int32[2] float32[]", "float32[4,5]"},
       {"float32[4,5] int32[7,2] float32[7]", "float32[4,5]"},
       {"float32[4,5] int32[7,3] float32[7]",
        "the last dimension of indices (3) exceeds the rank of input (2)"},
       {"float32[8] int32[4,1] float32[5]",
        "the shape of updates ([5]) is not the expected one ([4])"},
       {"float32[4,5] int32[7,1] float32[7]",
        "the shape of updates ([7]) is not the expected one ([7,5])"},
       {"float32[8] int32[4,1] float16[4]",
        "the data type of updates (float16) is not that of input (float32)"},
       {"float32[8] int8[4,1] float32[4]",
        "the data type of indices (int8) is not one of its allowed data types (int32, uint32, "
        "int64)"},
       {"float32[] int32[1] float32[]",
        "the rank of input (0) is not in its allowed range (1 to 8)"},
       {"float32[8] int32[] float32[8]",
        "the rank of indices (0) is not in its allowed range (1 to 8)"},
       // Indices of rank 8 leave room for updates of rank 7 and the input's rest: no shape fits.
       {"float32[1,1,1] int32[1,1,1,1,1,1,1,1] float32[1,1,1,1,1,1,1,1]",
        "the shape of updates ([1,1,1,1,1,1,1,1]) is not the expected one ([1,1,1,1,1,1,1,1,1])"}});
}

TEST(GatherElements, Indices_DifferAlongTheAxisOnly) {
  const auto axis = [](uint32_t axis) { return GatherAttributes{.axis = axis}; };
  const std::string count = std::to_string(limits::kTensorBytesMax / 4);
  ExpectOutcomes(
      OperatorKind::kGatherElements,
      {{"float32[4,5] int32[7,5]", axis(0), "float32[7,5]"},
       {"int8[4,5] int64[4,1]", axis(1), "int8[4,1]"},
       {"float32[4,5] int32[7,5]", axis(1),
        "the shape of indices ([7,5]) differs from that of input ([4,5]) beside the axis (1)"},
       {"float32[4,5] int32[4]", axis(0), "the rank of indices (1) is not that of input (2)"},
       {"float32[4,5] int32[4,5]", axis(2), "the axis (2) is not less than the rank of input (2)"},
       {"float32[4,5] int8[4,5]", axis(0),
        "the data type of indices (int8) is not one of its allowed data types (int32, uint32, "
        "int64)"},
       {"float32[] int32[]", axis(0), "the rank of input (0) is not in its allowed range (1 to 8)"},
       // As many bytes of indices as may be; twice as many of values.
       {"int64[1] int32[" + count + "]", axis(0),
        "the byte length of int64[" + count + "] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(ScatterElements, UpdatesAndIndices_DifferAlongTheAxisOnly) {
  const auto axis = [](uint32_t axis) { return ScatterAttributes{.axis = axis}; };
  ExpectOutcomes(
      OperatorKind::kScatterElements,
      {{"float32[4,5] int32[7,5] float32[7,5]", axis(0), "float32[4,5]"},
       {"int8[4,5] uint32[4,2] int8[4,2]", axis(1), "int8[4,5]"},
       {"float32[4,5] int32[7,5] float32[7,5]", axis(1),
        "the shape of indices ([7,5]) differs from that of input ([4,5]) beside the axis (1)"},
       {"float32[4,5] int32[7,5] float32[4,5]", axis(0),
        "the shape of updates ([4,5]) is not that of indices ([7,5])"},
       {"float32[4,5] int32[4] float32[4,5]", axis(0),
        "the rank of indices (1) is not that of input (2)"},
       {"float32[4,5] int32[4,5] float32[4]", axis(0),
        "the shape of updates ([4]) is not that of indices ([4,5])"},
       {"float32[4,5] int32[4,5] float16[4,5]", axis(0),
        "the data type of updates (float16) is not that of input (float32)"},
       {"float32[4,5] int32[4,5] float32[4,5]", axis(2),
        "the axis (2) is not less than the rank of input (2)"}});
}

TEST(GatherND, Coordinates_SelectSlices) {
  ExpectOutcomes(
      OperatorKind::kGatherND,
      {{"float32[4,5] int32[7,1]", "float32[7,5]"},
       {"float32[4,5] int64[7,2]", "float32[7]"},
       {"float32[4,5] uint32[2]", "float32[]"},
       {"int8[4,5,6] int32[2,3,2]", "int8[2,3,6]"},
       {"float32[4,5] int32[7,3]",
        "the last dimension of indices (3) exceeds the rank of input (2)"},
       {"float32[4,5] int32[]", "the rank of indices (0) is not in its allowed range (1 to 8)"},
       {"float32[] int32[1]", "the rank of input (0) is not in its allowed range (1 to 8)"},
       {"float32[1,1,1] int32[1,1,1,1,1,1,1,1]",
        "the rank (9) of the shape exceeds the maximum (8)"},
       {"float32[4,65536] int32[65536,1]",
        "the byte length of float32[65536,65536] exceeds the maximum ($BYTES_MAX)"}});
}

}  // namespace
}  // namespace webnnd::webidl
