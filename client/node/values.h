// JavaScript values to C++ and back. The JavaScript half has converted what a script gave: what is
// of another type here is our own defect. Calls fail all the same while a worker thread is being
// stopped; then the reader has failed, and nothing that it read may be used.
#ifndef WEBNND_CLIENT_NODE_VALUES_H_
#define WEBNND_CLIENT_NODE_VALUES_H_

#include <node_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "client/node/environment.h"
#include "webidl/dimension.h"
#include "webidl/generated/enum_names.h"
#include "webidl/generated/types.h"

namespace webnn::node {

class Reader {
 public:
  explicit Reader(napi_env env) : env_(env) {}
  bool failed() const { return failed_; }

  void Read(napi_value value, bool& out);
  void Read(napi_value value, uint32_t& out);
  void Read(napi_value value, int32_t& out);
  void Read(napi_value value, double& out);
  void Read(napi_value value, float& out);
  void Read(napi_value value, std::string& out);
  void Read(napi_value value, webnnd::webidl::Number& out);
  void Read(napi_value value, webnnd::webidl::Dimension& out);
  // A Uint8Array's memory, valid until JavaScript runs again.
  void Read(napi_value value, std::span<std::byte>& out);

  template <class Enum>
  requires std::is_enum_v<Enum>
  void Read(napi_value value, Enum& out) {
    std::string name;
    Read(value, name);
    if (failed_) return;
    const auto known = webnnd::webidl::EnumFromString<Enum>(name);
    CHECK(known.has_value());
    out = *known;
  }

  template <class T>
  void Read(napi_value value, std::vector<T>& out) {
    uint32_t length = 0;
    if (!Check(napi_get_array_length(env_, value, &length))) return;
    out.clear();
    out.reserve(length);
    for (uint32_t i = 0; i < length && !failed_; ++i) {
      napi_value element = nullptr;
      if (!Check(napi_get_element(env_, value, i, &element))) return;
      Read(element, out.emplace_back());
    }
  }

  template <class T>
  void Read(napi_value value, std::optional<T>& out) {
    Read(value, out.emplace());
  }

  void Read(napi_value value, webnnd::webidl::Sizes& out) {
    std::vector<webnnd::webidl::Dimension> dimensions;
    Read(value, dimensions);
    if (!failed_) out = webnnd::webidl::Sizes(dimensions);
  }

  // A number or a list.
  template <class T>
  void Read(napi_value value, std::variant<T, std::vector<T>>& out) {
    bool is_list = false;
    if (!Check(napi_is_array(env_, value, &is_list))) return;
    if (is_list) {
      Read(value, out.template emplace<std::vector<T>>());
    } else {
      Read(value, out.template emplace<T>());
    }
  }

  // What an External holds; null stays null.
  template <class T>
  void Read(napi_value value, std::shared_ptr<T>& out) {
    Held* held = ReadHeld(value);
    if (held == nullptr) return;
    CHECK(held->type() == &HeldObject<T>::kType);
    out = static_cast<HeldObject<T>*>(held)->object();
  }
  // nullptr for null.
  Held* ReadHeld(napi_value value);

  // The member of an object; `out` keeps its value where there is none.
  template <class T>
  void Member(napi_value object, std::string_view name, T& out) {
    if (napi_value value = GetMember(object, name); value != nullptr) Read(value, out);
  }

 private:
  bool Check(napi_status status) {
    if (status != napi_ok) failed_ = true;
    return !failed_;
  }
  napi_value GetMember(napi_value object, std::string_view name);

  napi_env env_;
  bool failed_ = false;
};

// The arguments of a function, at most kMax.
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info);

  // Reads them in order; false when they must not be used.
  template <class... Ts>
  bool Read(Ts&... outs) {
    size_t next = 0;
    (reader_.Read(values_[next++], outs), ...);
    return !reader_.failed();
  }
  napi_value operator[](size_t i) const { return values_[i]; }
  Reader& reader() { return reader_; }

 private:
  static constexpr size_t kMax = 8;
  Reader reader_;
  std::array<napi_value, kMax> values_{};
};

// --- C++ to JavaScript. nullptr while the environment is being stopped. --------------------------

napi_value Undefined(napi_env env);
napi_value ToValue(napi_env env, bool value);
napi_value ToValue(napi_env env, double value);
napi_value ToValue(napi_env env, std::string_view value);
napi_value ToValue(napi_env env, const std::vector<uint32_t>& list);
// Makes an object of members in the order in which they are added.
class ObjectMaker {
 public:
  explicit ObjectMaker(napi_env env);
  ObjectMaker& Add(std::string_view name, napi_value value);
  napi_value object() const { return object_; }

 private:
  napi_env env_;
  napi_value object_ = nullptr;
};
napi_value MakeArray(napi_env env, std::span<const napi_value> elements);

}  // namespace webnn::node

#endif  // WEBNND_CLIENT_NODE_VALUES_H_
