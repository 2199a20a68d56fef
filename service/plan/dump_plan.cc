#include "service/plan/dump_plan.h"

#include <fmt/format.h>

#include <string_view>

#include "base/check.h"
#include "shaders/shader_table.h"

namespace webnnd::service {
namespace {

std::string DumpBuffer(const BufferRef& buffer) {
  switch (buffer.space) {
    case BufferSpace::kInput:
    case BufferSpace::kOutput:
    case BufferSpace::kConstant: {
      constexpr std::string_view kNames[] = {"in", "out", "c"};
      std::string_view name = kNames[static_cast<size_t>(buffer.space)];
      std::string from = buffer.offset == 0 ? "" : fmt::format("+{}", buffer.offset);
      return fmt::format("{}{}{}[{}]", name, buffer.index, from, buffer.bytes);
    }
    case BufferSpace::kArena:
      return fmt::format("a+{}[{}]", buffer.offset, buffer.bytes);
    case BufferSpace::kCounters:
      return fmt::format("n+{}[{}]", buffer.offset, buffer.bytes);
  }
  UNREACHABLE();
}

std::string DumpBuffers(const KernelCall& call, bool written) {
  std::string text;
  for (const BufferRef& buffer : call.buffers) {
    if (buffer.written == written) text += ' ' + DumpBuffer(buffer);
  }
  return text;
}

}  // namespace

std::string DumpPlan(const Plan& plan) {
  std::string text;
  for (const KernelCall& call : plan.calls) {
    text += fmt::format("{}{}: {}<{}> {}={} reads{} writes{}\n", call.barrier_before ? "| " : "",
                        call.label, shaders::ShaderName(call.shader),
                        fmt::join(call.specialization, ","),
                        call.workgroups != 0 ? "wg" : "invocations",
                        call.workgroups != 0 ? call.workgroups : call.invocations,
                        DumpBuffers(call, false), DumpBuffers(call, true));
  }
  text += fmt::format("arena {} bytes\n", plan.arena_bytes);
  return text;
}

}  // namespace webnnd::service
