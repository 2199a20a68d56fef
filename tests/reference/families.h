// What the families give to the table of reference.cc: how calls are made and evaluated.
#ifndef WEBNND_TESTS_REFERENCE_FAMILIES_H_
#define WEBNND_TESTS_REFERENCE_FAMILIES_H_

#include "tests/reference/reference.h"

namespace webnnd::reference {

// unary.cc
void MakeUnary(CaseMaker& maker);  // All that take one operand and no shape: also activations.
void EvaluateUnary(const Arguments& arguments, std::span<Array> results);
void MakeClamp(CaseMaker& maker);
void EvaluateClamp(const Arguments& arguments, std::span<Array> results);
void MakeCast(CaseMaker& maker);
void EvaluateCast(const Arguments& arguments, std::span<Array> results);

// binary.cc
void MakeBinary(CaseMaker& maker);
void EvaluateBinary(const Arguments& arguments, std::span<Array> results);
void MakeWhere(CaseMaker& maker);
void EvaluateWhere(const Arguments& arguments, std::span<Array> results);

// quantize.cc
void MakeQuantization(CaseMaker& maker);
void EvaluateDequantizeLinear(const Arguments& arguments, std::span<Array> results);
void EvaluateQuantizeLinear(const Arguments& arguments, std::span<Array> results);

// shape.cc
void MakeReshape(CaseMaker& maker);
void EvaluateCopy(const Arguments& arguments, std::span<Array> results);
void MakeTranspose(CaseMaker& maker);
void EvaluateTranspose(const Arguments& arguments, std::span<Array> results);
void MakeSlice(CaseMaker& maker);
void EvaluateSlice(const Arguments& arguments, std::span<Array> results);
void MakeSplit(CaseMaker& maker);
void EvaluateSplit(const Arguments& arguments, std::span<Array> results);
void MakeConcat(CaseMaker& maker);
void EvaluateConcat(const Arguments& arguments, std::span<Array> results);
void MakeExpand(CaseMaker& maker);
void EvaluateExpand(const Arguments& arguments, std::span<Array> results);
void MakeTile(CaseMaker& maker);
void EvaluateTile(const Arguments& arguments, std::span<Array> results);
void MakeReverse(CaseMaker& maker);
void EvaluateReverse(const Arguments& arguments, std::span<Array> results);
void MakePad(CaseMaker& maker);
void EvaluatePad(const Arguments& arguments, std::span<Array> results);
void MakeTriangular(CaseMaker& maker);
void EvaluateTriangular(const Arguments& arguments, std::span<Array> results);

// gather.cc
void MakeGather(CaseMaker& maker);
void EvaluateGather(const Arguments& arguments, std::span<Array> results);
void MakeGatherElements(CaseMaker& maker);
void EvaluateGatherElements(const Arguments& arguments, std::span<Array> results);
void MakeGatherNd(CaseMaker& maker);
void EvaluateGatherNd(const Arguments& arguments, std::span<Array> results);
void MakeScatterElements(CaseMaker& maker);
void EvaluateScatterElements(const Arguments& arguments, std::span<Array> results);
void MakeScatterNd(CaseMaker& maker);
void EvaluateScatterNd(const Arguments& arguments, std::span<Array> results);

// reduce.cc
void MakeReduce(CaseMaker& maker);
void EvaluateReduce(const Arguments& arguments, std::span<Array> results);
void MakeArgMinMax(CaseMaker& maker);
void EvaluateArgMinMax(const Arguments& arguments, std::span<Array> results);
void MakeCumulativeSum(CaseMaker& maker);
void EvaluateCumulativeSum(const Arguments& arguments, std::span<Array> results);
void MakeSoftmax(CaseMaker& maker);
void EvaluateSoftmax(const Arguments& arguments, std::span<Array> results);

// matmul.cc
void MakeMatmul(CaseMaker& maker);
void EvaluateMatmul(const Arguments& arguments, std::span<Array> results);
void MakeGemm(CaseMaker& maker);
void EvaluateGemm(const Arguments& arguments, std::span<Array> results);

// window.cc
void MakeConv2d(CaseMaker& maker);
void EvaluateConv2d(const Arguments& arguments, std::span<Array> results);
void MakeConvTranspose2d(CaseMaker& maker);
void EvaluateConvTranspose2d(const Arguments& arguments, std::span<Array> results);
void MakePool2d(CaseMaker& maker);
void EvaluatePool2d(const Arguments& arguments, std::span<Array> results);

// resample.cc
void MakeResample2d(CaseMaker& maker);
void EvaluateResample2d(const Arguments& arguments, std::span<Array> results);

// normalization.cc
void MakeBatchNormalization(CaseMaker& maker);
void EvaluateBatchNormalization(const Arguments& arguments, std::span<Array> results);
void MakeInstanceNormalization(CaseMaker& maker);
void EvaluateInstanceNormalization(const Arguments& arguments, std::span<Array> results);
void MakeLayerNormalization(CaseMaker& maker);
void EvaluateLayerNormalization(const Arguments& arguments, std::span<Array> results);

// recurrent.cc
void MakeGru(CaseMaker& maker);
void EvaluateGru(const Arguments& arguments, std::span<Array> results);
void MakeGruCell(CaseMaker& maker);
void EvaluateGruCell(const Arguments& arguments, std::span<Array> results);
void MakeLstm(CaseMaker& maker);
void EvaluateLstm(const Arguments& arguments, std::span<Array> results);
void MakeLstmCell(CaseMaker& maker);
void EvaluateLstmCell(const Arguments& arguments, std::span<Array> results);

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_FAMILIES_H_
