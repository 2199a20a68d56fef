// Every bound of the system, with its reason (DESIGN section 10). Nothing grows without one.
#ifndef WEBNND_BASE_LIMITS_H_
#define WEBNND_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace webnnd::limits {

// --- Tensors and graphs -------------------------------------------------------------------------
// The draft's largest rank in practice; shaders unroll over it.
inline constexpr uint32_t kRankMax = 8;
// The draft's bound on a dimension: what WebIDL's `unsigned long` holds and drivers index with.
inline constexpr uint32_t kDimensionMax = 0x7fffffff;
// What one kernel may bind of a tensor: Vulkan's guaranteed maxStorageBufferRange, and lavapipe's.
// Element-wise operators work on larger tensors in pieces; others refuse them at build.
inline constexpr uint64_t kBindingBytesMax = 128ull << 20;
// Offsets in bits of the narrowest types must fit in 32 bits.
inline constexpr uint64_t kTensorBytesMax = 512ull << 20;
// Models of a billion parameters need a few thousand; a hundred times that is still a short scan.
inline constexpr uint32_t kOperandsPerGraphMax = 1u << 18;
inline constexpr uint32_t kOperatorsPerGraphMax = 1u << 17;
// Host memory of what a builder collects: as many ordinary operators as a graph may have take half.
inline constexpr uint64_t kGraphHostBytesMax = 128ull << 20;
// Values of a constant that passes may look at: positions and masks of 32768 tokens. Those of a
// session together; passes do without the rest, which is on the device in any case.
inline constexpr uint64_t kConstantValuesBytesMax = 256ull << 10;
inline constexpr uint64_t kConstantValuesBytesPerSessionMax = 64ull << 20;
// A plan of so many takes some 200 MiB. Only operators with lists, and recurrent networks, take
// more than a few each.
inline constexpr uint32_t kKernelsPerGraphMax = 1u << 18;
// concat and split are the only operators with lists of operands.
inline constexpr uint32_t kOperandsPerOperatorMax = 1024;
// A list attribute holds at most an entry per axis (padding: two), except split's sizes.
inline constexpr uint32_t kAttributeListMax = 1024;
inline constexpr uint32_t kNameBytesMax = 512;
inline constexpr uint32_t kLabelBytesMax = 512;
// Inputs, or outputs, of one graph; a decoder of 80 layers has 160 caches on each side.
inline constexpr uint32_t kGraphEndpointsMax = 1024;
// Names of dynamic dimensions in one graph. Each takes a few more inferences of every operator.
inline constexpr uint32_t kDynamicNamesMax = 8;
// Contiguous runs of a transfer to or from a tensor of dynamic shape: each is a copy of its own.
inline constexpr uint32_t kTransferRunsMax = 1u << 16;
// Sizes of a dynamic graph for which a binding keeps what was lowered; lowering anew takes
// milliseconds.
inline constexpr uint32_t kVariantsPerBindingMax = 8;
// What a binding keeps recorded for them: sizes of one alignment often share a recording.
inline constexpr uint32_t kRecordingsPerBindingMax = 8;
// Intermediates of a dynamic graph are planned for its largest sizes, so that no growth moves them;
// where that takes more, for sizes little above those of the dispatch.
inline constexpr uint64_t kRoomForAllSizesBytesMax = 32ull << 20;

// --- The wire -----------------------------------------------------------------------------------
// A frame carries a chunk of a graph or a small payload; bulk goes through the arenas.
inline constexpr uint32_t kFrameBytesMax = 1u << 20;
// Payloads up to here travel inline: below it a copy is cheaper than an arena range.
inline constexpr uint32_t kInlinePayloadBytesMax = 4096;
// Descriptors that one message may carry: Hello brings two arenas.
inline constexpr uint32_t kDescriptorsPerFrameMax = 4;
// Descriptors received and not yet claimed by a message.
inline constexpr uint32_t kDescriptorsPendingMax = 16;
// Each arena: large enough to hide a round trip at memory speed, small enough for many clients.
inline constexpr uint64_t kArenaBytesDefault = 16ull << 20;
inline constexpr uint64_t kArenaBytesMax = 256ull << 20;
inline constexpr uint64_t kArenaBytesMin = 64ull << 10;
// Nesting of a Cap'n Proto message; our deepest is 8.
inline constexpr int kDecodeNestingMax = 16;
// An error's sentence, and each line of what was being done; encoding truncates longer ones.
inline constexpr uint32_t kErrorTextBytesMax = 4096;
inline constexpr uint32_t kErrorContextMax = 16;
// Operators per graph chunk; keeps a chunk well below a frame.
inline constexpr uint32_t kOperatorsPerChunk = 256;

// --- A client -----------------------------------------------------------------------------------
inline constexpr uint32_t kObjectsPerSessionMax = 1u << 16;
inline constexpr uint32_t kContextsPerSessionMax = 16;
inline constexpr uint32_t kTensorsPerSessionMax = 1u << 14;
inline constexpr uint32_t kGraphsPerSessionMax = 1024;
inline constexpr uint32_t kBuildersPerSessionMax = 256;
// Operators of all graphs of a session: two of the largest, or hundreds of ordinary ones.
inline constexpr uint32_t kOperatorsPerSessionMax = 1u << 18;
// Host memory of all that a session describes graphs with: a few of the largest descriptions.
inline constexpr uint64_t kGraphHostBytesPerSessionMax = 512ull << 20;
// Device memory of one client: tensors, constants and arenas of intermediates together, and what
// plans and bindings take of the driver.
inline constexpr uint64_t kDeviceBytesPerSessionMax = 8ull << 30;
// What a kernel of a plan takes beside its parameters, in host memory.
inline constexpr uint64_t kPlanBytesPerKernel = 1024;
// The same of a binding: descriptors, views and commands, in memory of the driver.
inline constexpr uint64_t kBindingBytesPerKernel = 4096;
// Work accepted and not yet retired; beyond it the worker stops reading the socket.
inline constexpr uint32_t kTasksInFlightMax = 512;
inline constexpr uint32_t kDispatchesInFlightMax = 256;
inline constexpr uint64_t kBytesInFlightMax = 256ull << 20;
// Replies queued for a client that does not read; beyond it the worker stops reading from it too.
inline constexpr uint64_t kOutboxBytesMax = 8ull << 20;
// The client's own queue of unsent bytes; beyond it calls fail with OperationError.
inline constexpr uint64_t kClientQueueBytesMax = 64ull << 20;
// Replies that the embedder has not let ProcessEvents handle; beyond it the client stops reading.
inline constexpr uint64_t kClientCompletionBytesMax = 8ull << 20;
// Bindings of a session: those that the client made, and those behind plain dispatches.
inline constexpr uint32_t kBindingsPerSessionMax = 4096;
// Bindings that the client caches behind plain dispatches, per context.
inline constexpr uint32_t kBindingsCachedMax = 64;
// Plans of one graph: one for each set of tensors that a binding has as input and output at once.
inline constexpr uint32_t kPlansPerGraphMax = 16;

// --- Processes ----------------------------------------------------------------------------------
inline constexpr uint32_t kWorkersMax = 64;
// Clients of the one worker of shared isolation: each takes three threads of its 256.
inline constexpr uint32_t kClientsPerSharedWorkerMax = 64;
// Clients that wait for a worker: each holds a descriptor of the broker's.
inline constexpr uint32_t kClientsWaitingMax = 512;
// Of one process: half of them.
inline constexpr uint32_t kClientsWaitingPerProcessMax = 256;
inline constexpr int kHeartbeatIntervalMs = 250;
inline constexpr int kHeartbeatSilenceMaxMs = 1000;
// A worker that is not ready to serve by then is killed (a cold driver start takes 0.1 s).
inline constexpr int kWorkerStartMaxMs = 20000;
// What a driver keeps of compiled kernels: those of a language model take 130 KiB of lavapipe's.
// Over it the cache begins anew.
inline constexpr uint64_t kKernelImageBytesMax = 16ull << 20;
// Kernels of which a worker tells the broker, for them to be cached.
inline constexpr uint32_t kKernelReportsMax = 512;
// Those that wait to be compiled for the cache, of all workers.
inline constexpr uint32_t kKernelsWaitingMax = 1024;
// What is compiled at once for the cache, and how long that may take, beside all else.
inline constexpr uint32_t kKernelsPerCompilerMax = 64;
inline constexpr int kCompilerMsMax = 120'000;
// How long a worker waits for kernels that it has named before it compiles them itself.
inline constexpr int kKernelFetchMsMax = 60'000;
// A submission is cut at about this much estimated work, so that it can be stopped in between.
inline constexpr int kSubmissionMs = 50;
// Of a timeline's submissions the device has so many at a time: one that runs, and the next.
inline constexpr int kSubmissionsAhead = 2;
// Device work of one dispatch; beyond it the dispatch is stopped before its next submission.
inline constexpr int kDispatchMsMax = 60'000;
// What one submission may take beyond all that a dispatch may: a kernel that does not end by then
// hangs, and costs the worker. Generous, because other clients work on the device as well.
inline constexpr int kHangMs = 10'000;
// A worker's trace: some two million events; viewers take no more.
inline constexpr uint64_t kTraceBytesMax = 256ull << 20;

// --- The device ---------------------------------------------------------------------------------
// Kernels compiled for one device: some 300 modules with a few specialisations each.
inline constexpr uint32_t kPipelinesPerDeviceMax = 8192;
// Staging memory of one context's transfers in flight; a transfer that is larger goes alone.
inline constexpr uint64_t kStagingBytesPerContextMax = 32ull << 20;

}  // namespace webnnd::limits

#endif  // WEBNND_BASE_LIMITS_H_
