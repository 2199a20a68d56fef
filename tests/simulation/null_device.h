// A device that computes nothing much: service/vulkan/device.h without Vulkan. A program that links
// null_device has it in place of the executor.
//
// A dispatch makes every byte of an output 1 more than the sum of the inputs' bytes at its place,
// whatever the plan, and counts as a millisecond for each of the plan's kernels; work is done
// inside RunQueued, on the calling thread, in the order in which it was submitted. So a test knows
// what to expect of any graph, and decides how slow the device is.
#ifndef WEBNND_TESTS_SIMULATION_NULL_DEVICE_H_
#define WEBNND_TESTS_SIMULATION_NULL_DEVICE_H_

#include <cstddef>
#include <cstdint>

#include "service/vulkan/device.h"

namespace webnnd::service {

// Does up to `count` pieces of what was submitted; how many there were.
size_t RunQueued(Device& device, size_t count);

// What it does wrong from now on, for tests of tests.
enum class NullFlaw : uint8_t {
  kNone,
  kForgetsToNotify,  // Nobody is told that the work is done.
  kDoesNotSubmit,    // What is recorded is not done.
};
void SetFlaw(Device& device, NullFlaw flaw);

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_NULL_DEVICE_H_
