// DumpPlan: a plan as text, one line for each kernel, for people and for snapshots.
#ifndef WEBNND_SERVICE_PLAN_DUMP_PLAN_H_
#define WEBNND_SERVICE_PLAN_DUMP_PLAN_H_

#include <string>

#include "service/plan/plan.h"

namespace webnnd::service {

// "label: Shader<specialisation> invocations=N reads in0[64] c1[16] writes a+256[64]", where in and
// out are the graph's inputs and outputs, c its constants, a its arena from a byte on, and sizes in
// bytes. "wg=" stands for workgroups that are counted as they are, "| " before a call that waits
// for those above it. What costs and parameters hold is left out: they say nothing about structure.
std::string DumpPlan(const Plan& plan);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PLAN_DUMP_PLAN_H_
