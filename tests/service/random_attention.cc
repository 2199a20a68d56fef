#include "tests/service/random_attention.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace webnnd::service::fusion_test {
namespace {

constexpr OperandDataType kInt32 = OperandDataType::kInt32;
constexpr OperandDataType kInt64 = OperandDataType::kInt64;

// A rotary embedding of rows of heads.
struct Rotary {
  uint32_t rows = 1;
  uint32_t heads = 1;
  uint32_t size = 1;
  bool interleaved = false;
  std::vector<long double> sign = {-1, 1};
  Operand cos;  // [rows, size / 2]
  Operand sin;
};

// `heads` heads of x, in any shape of [rows, heads * size], turned as ONNX Runtime Web writes it:
// [rows, heads, size].
Operand AddRotary(Net& net, const Operand& x, const Rotary& rotary) {
  webnn::GraphBuilder& builder = net.builder;
  const uint32_t half = rotary.size / 2;
  const bool interleaved = rotary.interleaved;
  const uint32_t axis = interleaved ? 4 : 3;
  const Shape pairs = interleaved ? Shape{1, rotary.rows, rotary.heads, half, 2}
                                  : Shape{1, rotary.rows, rotary.heads, 2, half};
  const Shape angles =
      interleaved ? Shape{1, rotary.rows, 1, half, 1} : Shape{1, rotary.rows, 1, 1, half};
  Operand halves = Must(builder.Reshape(x, pairs));
  std::vector<Operand> parts = Must(builder.Split(halves, 2u, {.axis = axis}));
  Operand swapped = Must(builder.Concat({parts[1], parts[0]}, axis));
  Operand straight = Must(builder.Mul(halves, Must(builder.Reshape(rotary.cos, angles))));
  Operand signs = net.Constant(x.data_type(), interleaved ? Shape{2} : Shape{2, 1}, rotary.sign);
  Operand crossed = Must(builder.Mul(swapped, Must(builder.Reshape(rotary.sin, angles))));
  Operand sum = Must(builder.Add(straight, Must(builder.Mul(crossed, signs))));
  return Must(builder.Reshape(sum, {rotary.rows, rotary.heads, rotary.size}));
}

}  // namespace

bool RandomAttention::IsStrange(const char* what) {
  const bool is_strange = strange_ != 0 && Draw(strange_) == 0;
  if (is_strange) Note(std::string("!") + what);
  return is_strange;
}

bool RandomAttention::Chooses(const char* what, uint32_t one_of) {
  const bool chooses = Draw(one_of) == 0;
  if (chooses) Note(what);
  return chooses;
}

Shape RandomAttention::OfRank(Shape shape) const {
  if (has_batch_) shape.insert(shape.begin(), 1);
  return shape;
}

void RandomAttention::DrawSizes(const Operand& x) {
  type_ = x.data_type();
  rows_ = x.shape()[0];
  const uint32_t size = x.shape()[1];
  head_size_ = 8u << Draw(3);
  heads_ = size / head_size_;
  kv_heads_ = std::max(1u, heads_ >> Draw(3));
  has_batch_ = Chooses("batch");
  by_lines_ = heads_ > kv_heads_ && Chooses("lines");
  integer_ = Chooses("int64") ? kInt64 : kInt32;
  growth_ = static_cast<Growth>(Draw(10) < 5 ? 0 : Draw(4));
  switch (growth_) {
    case Growth::kScatter:
      keys_ = rows_ + Draw(9);
      // As many as are worth several workgroups.
      if (rows_ == 1 && Draw(4) == 0) keys_ += 600;
      old_keys_ = Draw(keys_);
      Note("scatter");
      break;
    case Growth::kConcat:
      old_keys_ = 1 + Draw(9);
      keys_ = old_keys_ + rows_;
      Note("concat");
      break;
    case Growth::kFixed:
      keys_ = 1 + Draw(12);
      Note("fixed");
      break;
    case Growth::kNone:
      keys_ = rows_;
  }
  start_.clear();
  if (growth_ == Growth::kScatter || (growth_ != Growth::kNone && Chooses("start"))) {
    long double start = growth_ == Growth::kFixed ? Draw(keys_) : old_keys_;
    if (IsStrange("far")) {
      const long double far[] = {-1, 1000, -1000, std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<int32_t>::min()};
      start = far[Draw(5)];
    }
    start_.push_back(net_.Integers({1}, {start}, kInt32));
    Note("from " + std::to_string(static_cast<int64_t>(start)));
  }
  Note(std::to_string(rows_) + " rows, " + std::to_string(heads_) + "/" +
       std::to_string(kv_heads_) + " heads of " + std::to_string(head_size_) + ", " +
       std::to_string(keys_) + " keys:");
}

// --- Rows of heads ------------------------------------------------------------------------------

// Positions of the rows, [rows].
Operand RandomAttention::Positions() {
  Operand count = Count(integer_, {rows_}, 0, 0, 1);
  if (start_.empty() || Chooses("positions")) {
    std::vector<long double> places(rows_);
    for (long double& place : places) place = static_cast<int>(Draw(40)) - 15;
    return net_.Integers({rows_}, places, integer_);
  }
  Operand start = start_[0];
  if (integer_ == kInt64) start = Must(builder().Cast(start, kInt64));
  if (rows_ == 1 && Draw(2) == 0) return start;
  return Must(builder().Add(start, count));
}

Operand RandomAttention::Turn(const Operand& x, uint32_t heads) {
  Operand turned = Must(builder().Reshape(x, {rows_, heads, head_size_}));
  uint32_t size = head_size_;
  std::vector<Operand> rest;
  if (Chooses("partial", 3)) {
    size /= 2;
    std::vector<Operand> parts = Must(builder().Split(turned, 2u, {.axis = 2}));
    turned = parts[0];
    rest = {parts[1]};
  }
  Rotary rotary{rows_, heads, size, Chooses("interleaved"), {-1, 1}, turned, turned};
  if (IsStrange("the other way")) rotary.sign = {1, -1};
  Operand positions = Positions();
  for (Operand* angles : {&rotary.cos, &rotary.sin}) {
    if (angles == &rotary.sin && IsStrange("other positions")) positions = Positions();
    *angles = Must(builder().Gather(net_.Constant(type_, {20, size / 2}), positions, {.axis = 0}));
  }
  turned = AddRotary(net_, turned, rotary);
  if (rest.empty()) return turned;
  return Must(builder().Concat({turned, rest[0]}, 2));
}

Operand RandomAttention::Multiply(const Operand& x, uint32_t columns) {
  const uint32_t depth = x.shape()[1];
  std::vector<long double> values(columns * depth);
  for (long double& value : values) value = (static_cast<int>(Draw(513)) - 256) / 2048.0L;
  Operand weights = net_.Constant(type_, {columns, depth}, values);
  return Must(builder().Gemm(x, weights, {.b_transpose = true}));
}

RandomAttention::Heads RandomAttention::MakeHeads(const Operand& x) {
  const uint32_t width = heads_ * head_size_;
  const uint32_t kv_width = kv_heads_ * head_size_;
  std::vector<Operand> parts;
  if (Chooses("packed")) {
    std::vector<uint32_t> widths = {width, kv_width, kv_width};
    Operand all = Multiply(x, width + 2 * kv_width);
    parts = Must(builder().Split(all, widths, {.axis = 1}));
    if (IsStrange("swapped parts")) std::swap(parts[1], parts[2]);
  } else {
    for (uint32_t columns : {width, kv_width, kv_width}) {
      if (columns == width && Draw(2) == 0) {
        parts.push_back(x);
      } else {
        parts.push_back(Draw(3) == 0 ? net_.In(type_, {rows_, columns}) : Multiply(x, columns));
      }
    }
  }
  Heads heads{parts[0], parts[1], parts[2]};
  if (Chooses("rotary")) {
    heads.queries = Turn(heads.queries, heads_);
    if (!IsStrange("keys that stay")) heads.keys = Turn(heads.keys, kv_heads_);
  }
  if (IsStrange("values that turn")) heads.values = Turn(heads.values, kv_heads_);
  return heads;
}

// [heads, rows, head size] of rows of heads.
Operand RandomAttention::HeadsFirst(const Operand& x, uint32_t heads) {
  if ((rows_ == 1 && Draw(2) == 0) || IsStrange("heads that are rows")) {
    return Must(builder().Reshape(x, OfRank({heads, rows_, head_size_})));
  }
  Operand by_row = Must(builder().Reshape(x, OfRank({rows_, heads, head_size_})));
  const std::vector<uint32_t> permutation =
      has_batch_ ? std::vector<uint32_t>{0, 2, 1, 3} : std::vector<uint32_t>{1, 0, 2};
  return Must(builder().Transpose(by_row, {.permutation = permutation}));
}

// --- Caches -------------------------------------------------------------------------------------

// [rows, kv heads, coordinates].
Operand RandomAttention::ScatterIndices() {
  const Shape column = {rows_, kv_heads_, 1};
  Operand head = Count(integer_, column, 1, 0, IsStrange("every other head") ? 2 : 1);
  Operand row = start_[0];
  if (integer_ == kInt64) row = Must(builder().Cast(row, kInt64));
  const int offset = IsStrange("further") ? static_cast<int>(Draw(5)) - 2 : 0;
  const int step = IsStrange("backwards") ? -1 : 1;
  if (Draw(2) == 0) {
    row = Must(builder().Add(row, Count(integer_, column, 0, offset, step)));
  } else {
    row = Must(builder().Add(row, Count(integer_, {rows_}, 0, offset, step)));
    row = Must(builder().Expand(Must(builder().Reshape(row, {rows_, 1, 1})), column));
  }
  std::vector<Operand> columns = {head, row};
  if (has_batch_) columns.insert(columns.begin(), Count(integer_, column, 0, 0, 0));
  if (IsStrange("coordinates in turn")) std::swap(columns[0], columns[1]);
  Operand indices = Must(builder().Concat(columns, 2));
  if (!has_batch_ || Draw(2) == 0) return indices;
  return Must(builder().Reshape(indices, {1, rows_, kv_heads_, 3}));
}

Operand RandomAttention::Scatter(const Operand& rows, const Operand& indices) {
  Operand past = net_.In(type_, OfRank({kv_heads_, keys_, head_size_}));
  Shape shape = indices.shape();
  shape.back() = head_size_;
  return Must(builder().ScatterND(past, indices, Must(builder().Reshape(rows, shape))));
}

Operand RandomAttention::Grow(const Operand& rows) {
  Operand by_head = HeadsFirst(rows, kv_heads_);
  Operand past = net_.In(type_, OfRank({kv_heads_, old_keys_, head_size_}));
  std::vector<Operand> parts = {past, by_head};
  if (IsStrange("new before old")) std::swap(parts[0], parts[1]);
  return Must(builder().Concat(parts, has_batch_ ? 2 : 1));
}

RandomAttention::Cache RandomAttention::MakeCache(const Heads& heads) {
  switch (growth_) {
    case Growth::kScatter: {
      Operand indices = ScatterIndices();
      Operand of_values = IsStrange("other indices") ? ScatterIndices() : indices;
      Operand keys = Scatter(heads.keys, indices);
      if (IsStrange("keys that are values")) return {keys, keys};
      return {keys, Scatter(heads.values, of_values)};
    }
    case Growth::kConcat: {
      Operand keys = Grow(heads.keys);
      if (IsStrange("keys that are values")) return {keys, keys};
      return {keys, Grow(heads.values)};
    }
    case Growth::kFixed: {
      const Shape shape = OfRank({kv_heads_, keys_, head_size_});
      Operand keys = net_.In(type_, shape);
      return {keys, net_.In(type_, shape)};
    }
    default: {
      Operand keys = HeadsFirst(heads.keys, kv_heads_);
      return {keys, HeadsFirst(heads.values, kv_heads_)};
    }
  }
}

// Each head for those that share it.
Operand RandomAttention::Repeat(const Operand& x) {
  const uint32_t group = heads_ / kv_heads_;
  if (group == 1 || by_lines_) return x;
  Shape one = OfRank({kv_heads_, 1, keys_, head_size_});
  Shape all = OfRank({kv_heads_, group, keys_, head_size_});
  if (IsStrange("heads by turns")) {
    one = OfRank({1, kv_heads_, keys_, head_size_});
    all = OfRank({group, kv_heads_, keys_, head_size_});
  }
  Operand expanded = Must(builder().Expand(Must(builder().Reshape(x, one)), all));
  return Must(builder().Reshape(expanded, OfRank({heads_, keys_, head_size_})));
}

// --- Masks --------------------------------------------------------------------------------------

Operand RandomAttention::Count(OperandDataType integer, const Shape& shape, uint32_t axis,
                               long double first, long double step) {
  uint32_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  uint32_t count = 1;
  for (uint32_t extent : shape) count *= extent;
  // Sums of ones, as frameworks have it; where these values come out.
  if (first == 0 && step == 1 && integer != OperandDataType::kUint8 && Draw(3) == 0) {
    Operand ones = Must(builder().Expand(net_.Constant(integer, {1}, {1}), shape));
    return Must(builder().CumulativeSum(ones, axis, {.exclusive = true}));
  }
  std::vector<long double> values(count);
  for (uint32_t i = 0; i < count; ++i) values[i] = first + step * (i / inner % shape[axis]);
  return net_.Constant(integer, shape, values);
}

Operand RandomAttention::Visible(uint32_t rank, bool contrary) {
  OperandDataType integer = integer_;
  if (start_.empty() && Draw(4) == 0) integer = OperandDataType::kUint8;
  const auto shape_of = [&](uint32_t rows, uint32_t columns) {
    Shape shape(rank, 1);
    shape[rank - 2] = rows;
    shape[rank - 1] = columns;
    return shape;
  };
  const bool is_wide = Chooses("wide");
  const int first_key = IsStrange("keys from one") ? 1 : 0;
  Operand key = Count(integer, shape_of(is_wide ? rows_ : 1, keys_), rank - 1, first_key,
                      IsStrange("every other key") ? 2 : 1);
  // Row r sees up to start + r, and further where the cache is no longer than that.
  int reach = static_cast<int>(Draw(4)) - 1;
  if (growth_ == Growth::kConcat && start_.empty()) reach = static_cast<int>(old_keys_);
  if (IsStrange("steep")) reach += 100;
  const long double step = IsStrange("rows alike") ? 0 : 1;
  Operand last = Count(integer, shape_of(rows_, 1), rank - 2, std::max(reach, 0), step);
  if (!start_.empty()) {
    Operand start = start_[0];
    if (integer == kInt64) start = Must(builder().Cast(start, kInt64));
    last = Must(builder().Add(Draw(2) == 0 ? start : Must(builder().Reshape(start, {1, 1})), last));
  }
  if (Draw(3) == 0) last = Must(builder().Expand(last, shape_of(rows_, keys_)));
  if (Draw(3) == 0) {
    // As if transposed before.
    Operand turned = Count(integer, {keys_, rows_}, 1, 1, 0);
    turned = Must(builder().Transpose(turned));
    last = Must(builder().Add(last, turned));
  }
  Operand visible = last;
  switch (Draw(4)) {
    case 0:
      visible = Must(contrary ? builder().Greater(key, last) : builder().LesserOrEqual(key, last));
      break;
    case 1:
      visible = Must(contrary ? builder().Lesser(last, key) : builder().GreaterOrEqual(last, key));
      break;
    case 2:
      visible = Must(contrary ? builder().GreaterOrEqual(key, last) : builder().Lesser(key, last));
      break;
    default:
      visible = Must(contrary ? builder().LesserOrEqual(last, key) : builder().Greater(last, key));
  }
  if (contrary || !Chooses("window", 4)) return visible;
  Operand counted =
      Must(builder().CumulativeSum(Must(builder().Cast(visible, kInt32)), rank - 1,
                                   {.exclusive = true, .reversed = !IsStrange("first keys")}));
  Operand window = net_.Constant(kInt32, {1}, {static_cast<long double>(1 + Draw(4))});
  Operand is_near = Must(Draw(2) == 0 ? builder().Lesser(counted, window)
                                      : builder().LesserOrEqual(counted, window));
  return Must(builder().LogicalAnd(visible, is_near));
}

Operand RandomAttention::Mask(uint32_t rank) {
  if (IsStrange("mask that is an input")) return net_.In(type_, {rows_, keys_});
  const bool contrary = Chooses("contrary", 3);
  long double hidden = type_ == kHalf ? -65504 : -1e30L;
  if (Chooses("infinite", 3)) hidden = -std::numeric_limits<long double>::infinity();
  if (IsStrange("weak mask")) hidden = -3;
  Operand visible = Visible(rank, contrary);
  Operand none = Constant(hidden);
  Operand all = Constant(IsStrange("raised") ? 1 : 0);
  return Must(contrary ? builder().Where(visible, none, all) : builder().Where(visible, all, none));
}

Operand RandomAttention::Scaled(const Operand& products) {
  switch (Draw(3)) {
    case 0:
      return Must(builder().Mul(products, Constant(0.125L)));
    case 1:
      return Must(builder().Div(products, Constant(4)));
    default:
      return products;
  }
}

Operand RandomAttention::Attend(const Operand& x) {
  DrawSizes(x);
  const Heads heads = MakeHeads(x);
  const Cache cache = MakeCache(heads);
  for (const Operand& tensor : {cache.keys, cache.values}) {
    if (growth_ != Growth::kFixed && Chooses("present", 3)) net_.Out(tensor);
  }
  Operand keys = Repeat(cache.keys);
  Operand values = Repeat(cache.values);
  Operand queries = HeadsFirst(heads.queries, heads_);
  const uint32_t group = heads_ / kv_heads_;
  if (by_lines_) {
    queries = Must(builder().Reshape(queries, OfRank({kv_heads_, group * rows_, head_size_})));
  }
  std::vector<uint32_t> exchanged = {0, 2, 1};
  if (has_batch_) exchanged = {0, 1, 3, 2};
  Operand products =
      Must(builder().Matmul(queries, Must(builder().Transpose(keys, {.permutation = exchanged}))));
  Operand scores = products;
  const bool scales_late = Draw(2) == 0;
  if (!scales_late) scores = Scaled(scores);
  if (by_lines_) {
    const Shape shape =
        Draw(2) == 0 ? Shape{kv_heads_, group, rows_, keys_} : OfRank({heads_, rows_, keys_});
    scores = Must(builder().Reshape(scores, shape));
  }
  if (scales_late) scores = Scaled(scores);
  const auto rank = static_cast<uint32_t>(scores.shape().size());
  if (!IsStrange("no mask")) {
    scores = Must(builder().Add(scores, Mask(Draw(2) == 0 ? 2 : rank)));
  }
  Operand weights = Must(builder().Softmax(scores, IsStrange("along rows") ? rank - 2 : rank - 1));
  if (IsStrange("weights that are wanted")) net_.Out(weights);
  if (by_lines_) weights = Must(builder().Reshape(weights, products.shape()));
  Operand result = Must(builder().Matmul(weights, values));
  if (IsStrange("heads that are wanted")) net_.Out(result);
  if (by_lines_) result = Must(builder().Reshape(result, OfRank({heads_, rows_, head_size_})));
  if (!(rows_ == 1 && Draw(2) == 0) && !IsStrange("rows that are heads")) {
    const std::vector<uint32_t> permutation =
        has_batch_ ? std::vector<uint32_t>{0, 2, 1, 3} : std::vector<uint32_t>{1, 0, 2};
    result = Must(builder().Transpose(result, {.permutation = permutation}));
  }
  return Must(builder().Reshape(result, x.shape()));
}

}  // namespace webnnd::service::fusion_test
