// One message of every type and variant, with no field at its default: what the codec's tests send
// and the fuzzers' corpora are recorded from.
#ifndef WEBNND_TESTS_IPC_SAMPLE_MESSAGES_H_
#define WEBNND_TESTS_IPC_SAMPLE_MESSAGES_H_

#include <vector>

#include "ipc/messages.h"

namespace webnnd::ipc {

// How MakeOperator fills attributes.
enum class Filling {
  kDefault,  // The draft's defaults.
  kFull,     // Every optional value present, lists of two entries.
  kEmpty,    // Every optional value present, lists empty.
};
inline constexpr Filling kFillings[] = {Filling::kDefault, Filling::kFull, Filling::kEmpty};

webidl::Operator MakeOperator(webidl::OperatorKind kind, Filling filling);

// A small sealed memfd.
UniqueFd MakeSampleFile();

std::vector<ClientMessage> SampleClientMessages();
std::vector<ServiceMessage> SampleServiceMessages();

// Every handle in the samples has this generation, and nothing else looks like it.
inline constexpr uint32_t kSampleGeneration = 0xabcd1234;

}  // namespace webnnd::ipc

#endif  // WEBNND_TESTS_IPC_SAMPLE_MESSAGES_H_
