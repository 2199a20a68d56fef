#include "client/node/values.h"

namespace webnn::node {

using webnnd::webidl::Dimension;
using webnnd::webidl::DynamicDimension;
using webnnd::webidl::Number;

void Reader::Read(napi_value value, bool& out) { Check(napi_get_value_bool(env_, value, &out)); }

void Reader::Read(napi_value value, uint32_t& out) {
  Check(napi_get_value_uint32(env_, value, &out));
}

void Reader::Read(napi_value value, int32_t& out) {
  Check(napi_get_value_int32(env_, value, &out));
}

void Reader::Read(napi_value value, double& out) {
  Check(napi_get_value_double(env_, value, &out));
}

void Reader::Read(napi_value value, float& out) {
  double number = 0;
  Read(value, number);
  out = static_cast<float>(number);
}

void Reader::Read(napi_value value, std::string& out) {
  size_t length = 0;
  if (!Check(napi_get_value_string_utf8(env_, value, nullptr, 0, &length))) return;
  out.resize(length);
  // Writes a NUL too, where a string has one.
  Check(napi_get_value_string_utf8(env_, value, out.data(), length + 1, &length));
}

void Reader::Read(napi_value value, Number& out) {
  napi_valuetype type = napi_undefined;
  if (!Check(napi_typeof(env_, value, &type))) return;
  if (type != napi_bigint) {
    Read(value, out.emplace<double>());
    return;
  }
  bool lossless = false;
  if (!Check(napi_get_value_bigint_int64(env_, value, &out.emplace<int64_t>(), &lossless))) return;
  if (lossless) return;
  Check(napi_get_value_bigint_uint64(env_, value, &out.emplace<uint64_t>(), &lossless));
  // The JavaScript half gives the others as numbers.
  CHECK(failed_ || lossless);
}

void Reader::Read(napi_value value, Dimension& out) {
  napi_valuetype type = napi_undefined;
  if (!Check(napi_typeof(env_, value, &type))) return;
  if (type == napi_number) {
    Read(value, out.emplace<uint32_t>());
    return;
  }
  auto& dynamic = out.emplace<DynamicDimension>();
  Member(value, "name", dynamic.name);
  Member(value, "maxSize", dynamic.max_size);
  Member(value, "minSize", dynamic.min_size);
}

void Reader::Read(napi_value value, std::span<std::byte>& out) {
  void* data = nullptr;
  size_t length = 0;
  if (Check(napi_get_typedarray_info(env_, value, nullptr, &length, &data, nullptr, nullptr))) {
    out = {static_cast<std::byte*>(data), length};
  }
}

Held* Reader::ReadHeld(napi_value value) {
  napi_valuetype type = napi_undefined;
  if (!Check(napi_typeof(env_, value, &type)) || type == napi_null) return nullptr;
  void* held = nullptr;
  CHECK(napi_get_value_external(env_, value, &held) == napi_ok);
  return static_cast<Held*>(held);
}

napi_value Reader::GetMember(napi_value object, std::string_view name) {
  napi_value key = nullptr, value = nullptr;
  napi_valuetype type = napi_undefined;
  if (!Check(napi_create_string_utf8(env_, name.data(), name.size(), &key)) ||
      !Check(napi_get_property(env_, object, key, &value)) ||
      !Check(napi_typeof(env_, value, &type)) || type == napi_undefined) {
    return nullptr;
  }
  return value;
}

Arguments::Arguments(napi_env env, napi_callback_info info) : reader_(env) {
  size_t count = kMax;
  CHECK(napi_get_cb_info(env, info, &count, values_.data(), nullptr, nullptr) == napi_ok);
}

// --- C++ to JavaScript --------------------------------------------------------------------------

napi_value Undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

napi_value ToValue(napi_env env, bool value) {
  napi_value result = nullptr;
  napi_get_boolean(env, value, &result);
  return result;
}

napi_value ToValue(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

napi_value ToValue(napi_env env, std::string_view value) {
  napi_value result = nullptr;
  napi_create_string_utf8(env, value.data(), value.size(), &result);
  return result;
}

napi_value ToValue(napi_env env, const std::vector<uint32_t>& list) {
  std::vector<napi_value> elements;
  elements.reserve(list.size());
  for (uint32_t number : list) elements.push_back(ToValue(env, static_cast<double>(number)));
  return MakeArray(env, elements);
}

ObjectMaker::ObjectMaker(napi_env env) : env_(env) { napi_create_object(env, &object_); }

ObjectMaker& ObjectMaker::Add(std::string_view name, napi_value value) {
  napi_set_property(env_, object_, ToValue(env_, name), value);
  return *this;
}

napi_value MakeArray(napi_env env, std::span<const napi_value> elements) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, elements.size(), &array) != napi_ok) return nullptr;
  for (uint32_t i = 0; i < elements.size(); ++i) {
    if (napi_set_element(env, array, i, elements[i]) != napi_ok) return nullptr;
  }
  return array;
}

}  // namespace webnn::node
