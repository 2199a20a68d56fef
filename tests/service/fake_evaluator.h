// FakeEvaluator: notes what is to be run for constants, and answers with numbers of buffers.
#ifndef WEBNND_TESTS_SERVICE_FAKE_EVALUATOR_H_
#define WEBNND_TESTS_SERVICE_FAKE_EVALUATOR_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "service/passes/compile.h"

namespace webnnd::service {

class FakeEvaluator : public ConstantEvaluator {
 public:
  Result<std::vector<uint32_t>> Evaluate(const Plan& plan,
                                         const std::vector<uint32_t>& constant_buffers) override {
    if (fails) return OutOfMemoryError("no memory is left");
    EXPECT_TRUE(plan.input_bytes.empty());
    EXPECT_EQ(plan.constant_bytes.size(), constant_buffers.size());
    asked.push_back(constant_buffers);
    plans.push_back(plan);
    std::vector<uint32_t> buffers;
    for (size_t i = 0; i < plan.output_bytes.size(); ++i) buffers.push_back(next_buffer++);
    return buffers;
  }

  bool fails = false;
  uint32_t next_buffer = 100;
  // Each time.
  std::vector<std::vector<uint32_t>> asked;
  std::vector<Plan> plans;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SERVICE_FAKE_EVALUATOR_H_
