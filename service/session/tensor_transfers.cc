#include "service/session/tensor_transfers.h"

#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "service/graph/row_tiles.h"
#include "service/passes/strided_endpoints.h"

namespace webnnd::service {
namespace {

// Where the elements lie that the tensor has.
Result<std::vector<ByteRange>> RangesOf(const TensorObject& tensor) {
  const uint64_t bytes = tensor.current.byte_length();
  if (LiesPacked(tensor.current.shape(), tensor.descriptor.shape())) {
    return std::vector<ByteRange>{{0, bytes}};
  }
  if (bytes == 0) return std::vector<ByteRange>();
  const uint64_t element_bytes = webidl::BitsPerElement(tensor.current.data_type()) / 8;
  std::vector<CapacityDimension> dimensions =
      DimensionsInCapacity(tensor.current.shape(), tensor.descriptor.shape());
  CapacityDimension run;
  if (dimensions.back().stride == 1) {
    run = dimensions.back();
    dimensions.pop_back();
  }
  const uint64_t run_bytes = run.size * element_bytes;
  if (bytes / run_bytes > limits::kTransferRunsMax) {
    return NotSupportedError("{} in a capacity of {} has more rows ({}) than can be transferred",
                             tensor.current.ToString(),
                             webidl::ShapeToString(tensor.descriptor.shape()), bytes / run_bytes);
  }
  std::vector<ByteRange> ranges;
  ranges.reserve(bytes / run_bytes);
  for (uint64_t i = 0; i < bytes / run_bytes; ++i) {
    uint64_t offset = 0;
    uint64_t rest = i;
    for (size_t d = dimensions.size(); d-- > 0;) {
      offset += rest % dimensions[d].size * dimensions[d].stride;
      rest /= dimensions[d].size;
    }
    ranges.push_back({offset * element_bytes, run_bytes});
  }
  return ranges;
}

// Writing the tensor whole makes up for all but memory that was never cleared.
std::shared_ptr<WorkOutcome> OutcomeOfWriting(const TensorObject& tensor) {
  std::vector<std::shared_ptr<const WorkOutcome>> sources;
  AddPending(tensor.cleared, sources);
  return std::make_shared<WorkOutcome>(std::move(sources));
}

// Weights, and their scales, are many.
bool AreLookedAt(const webidl::OperandDescriptor& constant) {
  if (constant.byte_length() <= limits::kInlinePayloadBytesMax) return true;
  switch (constant.data_type()) {
    case webidl::OperandDataType::kInt32:
    case webidl::OperandDataType::kUint32:
    case webidl::OperandDataType::kInt64:
    case webidl::OperandDataType::kUint64:
    case webidl::OperandDataType::kUint8:
      return constant.element_count() <= limits::kConstantValuesBytesMax / sizeof(int64_t);
    default:
      return false;
  }
}

}  // namespace

Error NoTimeline(const ContextObject& context) {
  if (context.error) return *context.error;
  return InvalidStateError("the context was destroyed");
}

const Error* WhyBroken(const TensorObject& tensor) {
  if (tensor.error) return &*tensor.error;
  for (const auto* outcome : {&tensor.cleared, &tensor.written}) {
    if (*outcome != nullptr && (*outcome)->error() != nullptr) return (*outcome)->error();
  }
  return nullptr;
}

void AddPending(const std::shared_ptr<const WorkOutcome>& outcome,
                std::vector<std::shared_ptr<const WorkOutcome>>& pending) {
  if (outcome != nullptr && (!outcome->settled() || outcome->error() != nullptr)) {
    pending.push_back(outcome);
  }
}

Status AllocateTensor(TensorObject& tensor, const std::shared_ptr<DeviceQuota>& quota) {
  ContextObject& context = *tensor.context;
  if (context.timeline == nullptr) return NoTimeline(context);
  uint64_t bytes = tensor.descriptor.byte_length();
  if (bytes > context.device->max_tensor_bytes()) {
    return ValidationError("the tensor's byte length ({}) is greater than the device's limit ({})",
                           bytes, context.device->max_tensor_bytes());
  }
  ASSIGN_OR_RETURN(tensor.buffer, AllocateWithinQuota(*context.device, quota, bytes));
  return {};
}

Status ClearTensor(TensorObject& tensor) {
  auto outcome = std::make_shared<WorkOutcome>();
  TRY(tensor.context->timeline->Clear(tensor.buffer, outcome));
  tensor.context->has_unsubmitted_work = true;
  tensor.cleared = std::move(outcome);
  return {};
}

Status KeepValues(TensorObject& constant, PayloadSource& data,
                  const std::shared_ptr<Budget>& budget) {
  const uint64_t bytes = constant.descriptor.byte_length();
  if (!AreLookedAt(constant.descriptor) || data.length() != bytes) return {};
  struct Accounted {
    Budget::Reservation reservation;
    std::shared_ptr<const std::vector<std::byte>> bytes;
  };
  auto reservation = Budget::Reserve(budget, bytes);
  if (!reservation.ok()) return {};
  // The device gets them from there: what passes see is what it has.
  TRY(data.TakeIn());
  auto accounted = std::make_shared<Accounted>();
  accounted->reservation = std::move(*reservation);
  accounted->bytes = data.bytes();
  constant.values = {accounted, accounted->bytes.get()};
  return {};
}

Status WriteTensor(TensorObject& tensor, const PayloadSource& data) {
  ContextObject& context = *tensor.context;
  if (context.timeline == nullptr) return NoTimeline(context);
  if (tensor.buffer == nullptr) {
    return tensor.error ? *tensor.error : InvalidStateError("the tensor was destroyed");
  }
  INVALID_IF(data.length() != tensor.current.byte_length(),
             "the data's byte length ({}) is not the tensor's ({})", data.length(),
             tensor.current.byte_length());
  ASSIGN_OR_RETURN(const std::vector<ByteRange> ranges, RangesOf(tensor));
  const uint32_t tiled_loads = tensor.constant ? CountTiledLoads(tensor.descriptor) : 0;
  context.has_unsubmitted_work = true;
  std::shared_ptr<WorkOutcome> outcome = OutcomeOfWriting(tensor);
  TRY(context.timeline->Write(
      tensor.buffer, ranges,
      [&](uint64_t offset, std::span<std::byte> staging) {
        if (tiled_loads == 0) return data.Read(offset, staging);
        CHECK(offset == 0 && staging.size() == data.length());
        return ReadByTiles(
            tiled_loads,
            [&](uint64_t from, std::span<std::byte> rows) { return data.Read(from, rows); },
            staging);
      },
      outcome));
  tensor.written = std::move(outcome);
  return {};
}

Status ReadTensor(const TensorObject& tensor, uint64_t room, Timeline::ReadFunction on_end) {
  if (const Error* broken = WhyBroken(tensor)) return *broken;
  ContextObject& context = *tensor.context;
  if (context.timeline == nullptr) return NoTimeline(context);
  if (tensor.buffer == nullptr) return InvalidStateError("the tensor was destroyed");
  INVALID_IF(!tensor.readable, "the tensor is not readable");
  const uint64_t bytes = tensor.current.byte_length();
  ASSIGN_OR_RETURN(const std::vector<ByteRange> ranges, RangesOf(tensor));
  INVALID_IF(bytes > room, "the destination ({} bytes) is smaller than the tensor ({} bytes)", room,
             bytes);
  context.has_unsubmitted_work = true;
  std::vector<std::shared_ptr<const WorkOutcome>> pending;
  AddPending(tensor.cleared, pending);
  AddPending(tensor.written, pending);
  return context.timeline->Read(tensor.buffer, ranges,
                                [pending = std::move(pending), on_end = std::move(on_end)](
                                    Result<std::span<const std::byte>> result) {
                                  for (const auto& outcome : pending) {
                                    if (result.ok() && outcome->error() != nullptr)
                                      result = *outcome->error();
                                  }
                                  on_end(std::move(result));
                                });
}

}  // namespace webnnd::service
