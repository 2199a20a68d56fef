// RunNode: one operator through the real path (inference, lowering, memory plan, device) on values
// that a test writes down. For tests of kernels and passes.
#ifndef WEBNND_TESTS_SUPPORT_KERNEL_RUNNER_H_
#define WEBNND_TESTS_SUPPORT_KERNEL_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "service/graph/graph.h"
#include "service/vulkan/device.h"
#include "tests/support/sample.h"
#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {

// A tensor on the host. Values are long double, which holds every element type exactly.
struct HostTensor {
  // Values are converted as RoundTo does. One value fills the whole shape.
  static HostTensor Create(webidl::OperandDataType type, const webidl::Shape& shape,
                           const std::vector<long double>& values);
  std::vector<long double> Values() const;

  webidl::OperandDescriptor descriptor;
  std::vector<std::byte> bytes;
};

// Floats between `low` and `high`, integers from -100, or 0 where they are unsigned, to 100. Equal
// arguments give equal tensors.
HostTensor RandomTensor(webidl::OperandDataType type, const webidl::Shape& shape, uint32_t seed,
                        double low = -2, double high = 2);

// The value that an element of `type` holds after `value` was stored: the nearest float, ties to
// even; integers modulo 2^bits.
long double RoundTo(webidl::OperandDataType type, long double value);

// Distance in units of the last place, counted as the conformance tests do: float32 on the ordered
// line of all floats, float16 likewise; 0 between NaNs, infinity between NaN and a number; the
// difference for integers.
double UlpDistance(webidl::OperandDataType type, long double a, long double b);

// The device of the test program, with validation layers; every test shares it.
std::shared_ptr<Device> TestDevice();

// Whether to test shapes that only forms of kernels for GPUs tell apart.
inline bool TestsFormsOfGpus() { return IsThorough() || TestDevice()->wide(); }
#define SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED() \
  if (!TestsFormsOfGpus()) GTEST_SKIP() << "llvmpipe has one form for these shapes"

// Runs a graph whose inputs are `inputs`, in order; the outputs in order. Results are stored past
// the caches where the graph says so or the device would. Fails where a kernel
// reads or writes outside of its tensors (guarded_run.h), and when the validation layers have
// complained.
Result<std::vector<HostTensor>> RunGraph(Graph graph, const std::vector<HostTensor>& inputs);

// Runs one operator; absent optional operands are nullopt. Fails where inference refuses.
Result<std::vector<HostTensor>> RunNode(webidl::OperatorKind kind,
                                        const std::vector<std::optional<HostTensor>>& operands,
                                        webidl::OperatorAttributes attributes,
                                        const StreamedStores& streamed_stores = {});
// The same for operators with one result; CHECKs success.
HostTensor RunOne(webidl::OperatorKind kind, const std::vector<std::optional<HostTensor>>& operands,
                  webidl::OperatorAttributes attributes = webidl::NoAttributes{},
                  const StreamedStores& streamed_stores = {});

// The result of an operator of `operands` operands, of which all but `input` are absent, in a graph
// that has other sizes, too; it is as large as the input.
HostTensor RunWithOtherSizes(webidl::OperatorKind kind, const HostTensor& input,
                             webidl::OperatorAttributes attributes, size_t operands = 1);

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_KERNEL_RUNNER_H_
