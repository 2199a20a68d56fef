#include "ipc/messages.h"

#include <utility>

namespace webnnd::ipc {

ClientMessage::ClientMessage() = default;
ClientMessage::ClientMessage(Hello message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(CreateContext message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DestroyContext message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(CreateTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(CreateConstantTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DestroyTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(WriteTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(ReadTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(CreateBuilder message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DestroyBuilder message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(AddInputs message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(AddConstant message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(AddConstantTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(AddOperators message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(Build message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DestroyGraph message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(Dispatch message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(CreateBinding message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DestroyBinding message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(DispatchBinding message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(ResizeTensor message) : variant(std::move(message)) {}
ClientMessage::ClientMessage(ClientMessage&& other) noexcept = default;
ClientMessage& ClientMessage::operator=(ClientMessage&& other) noexcept = default;
ClientMessage::~ClientMessage() = default;

ServiceMessage::ServiceMessage() = default;
ServiceMessage::ServiceMessage(Goodbye message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(ContextCreated message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(ContextLost message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(TensorCreated message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(GraphBuilt message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(TensorRead message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(Acknowledge message) : variant(std::move(message)) {}
ServiceMessage::ServiceMessage(const ServiceMessage& other) = default;
ServiceMessage::ServiceMessage(ServiceMessage&& other) noexcept = default;
ServiceMessage& ServiceMessage::operator=(const ServiceMessage& other) = default;
ServiceMessage& ServiceMessage::operator=(ServiceMessage&& other) noexcept = default;
ServiceMessage::~ServiceMessage() = default;

}  // namespace webnnd::ipc
