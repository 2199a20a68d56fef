#include "examples/generate/llama_graph.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "examples/generate/matrix_graph.h"

namespace webnnd::generate {
namespace {

using webnn::Dimension;
using webnn::DynamicDimension;
using webnn::GraphBuilder;
using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;
using webnn::Sizes;

constexpr char kPast[] = "past";
constexpr char kSeq[] = "seq";

Result<Operand> FloatConstant(GraphBuilder& builder, const Shape& shape,
                              std::span<const float> values) {
  return builder.Constant(OperandDataType::kFloat32, shape, std::as_bytes(values));
}

Result<Operand> Int32Constant(GraphBuilder& builder, const Shape& shape,
                              std::span<const int32_t> values) {
  return builder.Constant(OperandDataType::kInt32, shape, std::as_bytes(values));
}

std::vector<int32_t> Iota(uint32_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// What all layers need, made once from the position.
struct Positional {
  Operand cos;   // [rows, 1, 1, head_dim / 2]
  Operand sin;   // The same.
  Operand sign;  // [2, 1]: -1 and 1.
  Operand mask;  // [rows, keys]: 0 where the row may look, else very negative.
  // int32 [rows, kv_heads, 2]: (head, position). Not where caches grow.
  std::optional<Operand> scatter_indices;
};

struct Scalars {
  Operand two;
  Operand epsilon;
  Operand attention_scale;
};

class LlamaBuilder {
 public:
  LlamaBuilder(const std::shared_ptr<webnn::Context>& context, const ModelConfig& config,
               const DeviceWeights& weights, const GraphSpec& spec)
      : builder_(context),
        config_(config),
        weights_(weights),
        spec_(spec),
        rows_(Rows(1)),
        keys_(spec.growing ? Dimension(Sum()) : Dimension(spec.capacity)) {}

  Result<webnn::Future<std::shared_ptr<webnn::Graph>>> Build() {
    ASSIGN_OR_RETURN(Operand ids, builder_.Input(kIdsInput, OperandDataType::kInt32,
                                                 std::vector<Dimension>{rows_}));
    TRY(DeclarePast());
    ASSIGN_OR_RETURN(Positional positional, MakePositional());
    ASSIGN_OR_RETURN(Scalars scalars, MakeScalars());

    ASSIGN_OR_RETURN(Operand x, LookUpRows(builder_, ids, weights_.embedding));
    for (uint32_t layer = 0; layer < config_.layer_count; ++layer) {
      ASSIGN_OR_RETURN(x, Layer(x, layer, positional, scalars));
    }
    ASSIGN_OR_RETURN(x, LastRow(x));
    ASSIGN_OR_RETURN(x, RmsNorm(x, *weights_.final_norm, scalars));
    ASSIGN_OR_RETURN(Operand logits, Project(builder_, x, weights_.head));
    TRY(AddOutputs(logits));
    return builder_.Build(outputs_);
  }

 private:
  bool has_one_row() const { return !spec_.growing && spec_.rows == 1; }

  // Sizes of which some may be dynamic.
  static Sizes Of(const std::vector<Dimension>& dimensions) { return Sizes(dimensions); }
  // `times` as many as there are tokens.
  Dimension Rows(uint32_t times) const {
    if (!spec_.growing) return times * spec_.rows;
    const std::string name = times == 1 ? kSeq : fmt::format("{} * {}", times, kSeq);
    return DynamicDimension{name, times * spec_.rows, times};
  }
  DynamicDimension Past() const { return {kPast, spec_.capacity - 1, 0}; }
  DynamicDimension Sum() const {
    return {fmt::format("{} + {}", kPast, kSeq), spec_.capacity - 1 + spec_.rows, 1};
  }

  // The caches, whose sizes say how long the past is: others may name it only once an input has.
  Status DeclarePast() {
    const Dimension past = spec_.growing ? Dimension(Past()) : Dimension(spec_.capacity);
    const std::vector<Dimension> cache = {config_.key_value_head_count, past, config_.head_dim};
    for (uint32_t layer = 0; layer < config_.layer_count; ++layer) {
      ASSIGN_OR_RETURN(Operand keys,
                       builder_.Input(PastKeyName(layer), OperandDataType::kFloat32, cache));
      ASSIGN_OR_RETURN(Operand values,
                       builder_.Input(PastValueName(layer), OperandDataType::kFloat32, cache));
      past_keys_.push_back(keys);
      past_values_.push_back(values);
    }
    return {};
  }

  // [1, hidden], of the token whose successor is wanted.
  Result<Operand> LastRow(const Operand& x) {
    if (has_one_row()) return x;
    if (spec_.growing) {
      const DynamicDimension last = {fmt::format("{} - 1", kSeq), spec_.rows - 1, 0};
      return builder_.Slice(x, Of({last, 0u}), {1, config_.hidden_size});
    }
    ASSIGN_OR_RETURN(Operand last_row, builder_.Input(kLastRowInput, OperandDataType::kInt32, {1}));
    return builder_.Gather(x, last_row, {.axis = 0});
  }

  Status AddOutputs(const Operand& logits) {
    if (spec_.logits) outputs_.emplace(kLogitsOutput, logits);
    if (spec_.first_logits != 0) {
      ASSIGN_OR_RETURN(Operand first, builder_.Slice(logits, {0, 0}, {1, spec_.first_logits}));
      outputs_.emplace(kFirstLogitsOutput, first);
    }
    if (spec_.next_id) {
      ASSIGN_OR_RETURN(Operand next_id, builder_.ArgMax(logits, 1));
      outputs_.emplace(kNextIdOutput, next_id);
    }
    return {};
  }

  Result<Scalars> MakeScalars() {
    const auto kType = OperandDataType::kFloat32;
    double scale = 1 / std::sqrt(static_cast<double>(config_.head_dim));
    ASSIGN_OR_RETURN(Operand two, builder_.Constant(kType, 2.0));
    ASSIGN_OR_RETURN(Operand epsilon,
                     builder_.Constant(kType, static_cast<double>(config_.norm_epsilon)));
    ASSIGN_OR_RETURN(Operand attention_scale, builder_.Constant(kType, scale));
    return Scalars{two, epsilon, attention_scale};
  }

  // Of the rows and of the keys, int32 [rows] and [1, keys].
  struct Positions {
    Operand of_rows;
    Operand of_keys;
    Operand of_tables;  // [rows]: as of_rows, for gathering.
  };

  Result<Positions> MakePositions() {
    if (spec_.growing) return CountPositions();
    ASSIGN_OR_RETURN(Operand position,
                     builder_.Input(kPositionInput, OperandDataType::kInt32, {1}));
    Operand of_rows = position;
    if (!has_one_row()) {
      ASSIGN_OR_RETURN(Operand offsets, Int32Constant(builder_, {spec_.rows}, Iota(spec_.rows)));
      ASSIGN_OR_RETURN(of_rows, builder_.Add(offsets, position));
    }
    ASSIGN_OR_RETURN(Operand of_keys,
                     Int32Constant(builder_, {1, spec_.capacity}, Iota(spec_.capacity)));
    return Positions{of_rows, of_keys, of_rows};
  }

  // Sizes alone say which they are. Masks count ones, as web frameworks do; positions that are
  // looked up come from a list, which is cheaper where the mask is fused away.
  Result<Positions> CountPositions() {
    const uint32_t most = Sum().max_size;
    ASSIGN_OR_RETURN(Operand one, builder_.Constant(OperandDataType::kInt32, 1.0));
    ASSIGN_OR_RETURN(Operand ones, builder_.Expand(one, Of({1u, keys_})));
    ASSIGN_OR_RETURN(Operand count, builder_.CumulativeSum(ones, 1, {.exclusive = true}));
    ASSIGN_OR_RETURN(Operand of_rows, builder_.Slice(count, Of({0u, Past()}), Of({1u, rows_})));
    ASSIGN_OR_RETURN(Operand list, Int32Constant(builder_, {most}, Iota(most)));
    ASSIGN_OR_RETURN(Operand of_tables, builder_.Slice(list, Of({Past()}), Of({rows_})));
    return Positions{of_rows, count, of_tables};
  }

  Result<Positional> MakePositional() {
    ASSIGN_OR_RETURN(Positions positions, MakePositions());
    ASSIGN_OR_RETURN(Operand cos, RopeTable(*weights_.rope_cos, positions.of_tables));
    ASSIGN_OR_RETURN(Operand sin, RopeTable(*weights_.rope_sin, positions.of_tables));
    const float kSigns[] = {-1, 1};
    ASSIGN_OR_RETURN(Operand sign, FloatConstant(builder_, {2, 1}, kSigns));
    ASSIGN_OR_RETURN(Operand mask, Mask(positions));
    Positional positional{cos, sin, sign, mask, std::nullopt};
    if (!spec_.growing) {
      ASSIGN_OR_RETURN(positional.scatter_indices, ScatterIndices(positions.of_rows));
    }
    return positional;
  }

  Result<Operand> RopeTable(const webnn::Tensor& table, const Operand& positions) {
    ASSIGN_OR_RETURN(Operand constant, builder_.Constant(table));
    ASSIGN_OR_RETURN(Operand gathered, builder_.Gather(constant, positions, {.axis = 0}));
    return builder_.Reshape(gathered, Of({rows_, 1u, 1u, config_.head_dim / 2}));
  }

  Result<Operand> Mask(const Positions& positions) {
    ASSIGN_OR_RETURN(Operand rows, builder_.Reshape(positions.of_rows, Of({rows_, 1u})));
    ASSIGN_OR_RETURN(Operand beyond, builder_.Greater(positions.of_keys, rows));
    // Finite, so that no row can become NaN; as small as it gets, so that exp gives 0.
    double lowest = std::numeric_limits<float>::lowest();
    ASSIGN_OR_RETURN(Operand hidden, builder_.Constant(OperandDataType::kFloat32, lowest));
    ASSIGN_OR_RETURN(Operand visible, builder_.Constant(OperandDataType::kFloat32, 0.0));
    return builder_.Where(beyond, hidden, visible);
  }

  Result<Operand> ScatterIndices(const Operand& positions) {
    const uint32_t heads = config_.key_value_head_count;
    std::vector<int32_t> head_of_row;
    for (uint32_t row = 0; row < spec_.rows; ++row) {
      for (uint32_t head = 0; head < heads; ++head) {
        head_of_row.push_back(static_cast<int32_t>(head));
      }
    }
    ASSIGN_OR_RETURN(Operand head_indices,
                     Int32Constant(builder_, {spec_.rows, heads, 1}, head_of_row));
    ASSIGN_OR_RETURN(Operand column, builder_.Reshape(positions, {spec_.rows, 1, 1}));
    ASSIGN_OR_RETURN(Operand positions_of_heads, builder_.Expand(column, {spec_.rows, heads, 1}));
    return builder_.Concat({head_indices, positions_of_heads}, 2);
  }

  // gain * x / sqrt(mean(x^2) + epsilon) over the last axis of [n, hidden].
  Result<Operand> RmsNorm(const Operand& x, const webnn::Tensor& gain, const Scalars& scalars) {
    ASSIGN_OR_RETURN(Operand gain_constant, builder_.Constant(gain));
    ASSIGN_OR_RETURN(Operand squares, builder_.Pow(x, scalars.two));
    ASSIGN_OR_RETURN(Operand mean, builder_.ReduceMean(squares, {.axes = std::vector<uint32_t>{1},
                                                                 .keep_dimensions = true}));
    ASSIGN_OR_RETURN(Operand shifted, builder_.Add(mean, scalars.epsilon));
    ASSIGN_OR_RETURN(Operand root, builder_.Sqrt(shifted));
    ASSIGN_OR_RETURN(Operand normalized, builder_.Div(x, root));
    return builder_.Mul(gain_constant, normalized);
  }

  // Rotates the pairs (j, j + head_dim / 2) of each head: [rows, heads * head_dim] to
  // [rows, heads, head_dim]. The operators are those that web frameworks emit, in their order, so
  // that a service which knows the pattern runs one kernel.
  Result<Operand> Rotate(const Operand& x, uint32_t heads, const Positional& positional) {
    const Sizes halves_shape = Of({rows_, heads, 2u, config_.head_dim / 2});
    const Sizes heads_shape = Of({rows_, heads, config_.head_dim});
    ASSIGN_OR_RETURN(Operand halves, builder_.Reshape(x, halves_shape));
    ASSIGN_OR_RETURN(std::vector<Operand> split, builder_.Split(halves, 2u, {.axis = 2}));
    ASSIGN_OR_RETURN(Operand swapped, builder_.Concat({split[1], split[0]}, 2));
    ASSIGN_OR_RETURN(Operand straight, builder_.Mul(halves, positional.cos));
    ASSIGN_OR_RETURN(Operand crossed, builder_.Mul(swapped, positional.sin));
    ASSIGN_OR_RETURN(Operand signed_crossed, builder_.Mul(crossed, positional.sign));
    ASSIGN_OR_RETURN(Operand straight_heads, builder_.Reshape(straight, heads_shape));
    ASSIGN_OR_RETURN(Operand crossed_heads, builder_.Reshape(signed_crossed, heads_shape));
    return builder_.Add(straight_heads, crossed_heads);
  }

  // The cache with `rows` [rows, kv_heads, head_dim]: written at their positions, or behind it.
  Result<Operand> UpdateCache(const Operand& past, const std::string& present_name,
                              const Operand& rows, const Positional& positional) {
    auto update = [&]() -> Result<Operand> {
      if (!spec_.growing) return builder_.ScatterND(past, *positional.scatter_indices, rows);
      ASSIGN_OR_RETURN(Operand by_head,
                       builder_.Transpose(rows, {.permutation = std::vector<uint32_t>{1, 0, 2}}));
      return builder_.Concat({past, by_head}, 1);
    };
    ASSIGN_OR_RETURN(Operand present, update());
    outputs_.emplace(present_name, present);
    return present;
  }

  // Query heads that share a key/value head are rows of one matrix, so that nothing is repeated:
  // [rows, heads, head_dim] to [kv_heads, group * rows, head_dim].
  Result<Operand> GroupHeads(const Operand& query) {
    Operand by_head = query;
    if (!has_one_row()) {
      ASSIGN_OR_RETURN(by_head,
                       builder_.Transpose(query, {.permutation = std::vector<uint32_t>{1, 0, 2}}));
    }
    return builder_.Reshape(
        by_head, Of({config_.key_value_head_count, Rows(group_size()), config_.head_dim}));
  }

  // The reverse: to [rows, heads * head_dim].
  Result<Operand> UngroupHeads(const Operand& grouped) {
    if (has_one_row()) return builder_.Reshape(grouped, {1, config_.query_width()});
    ASSIGN_OR_RETURN(Operand by_head,
                     builder_.Reshape(grouped, Of({config_.head_count, rows_, config_.head_dim})));
    ASSIGN_OR_RETURN(Operand by_row,
                     builder_.Transpose(by_head, {.permutation = std::vector<uint32_t>{1, 0, 2}}));
    return builder_.Reshape(by_row, Of({rows_, config_.query_width()}));
  }

  // softmax(q k^T * scale + mask) v.
  Result<Operand> Attend(const Operand& query, const Operand& keys, const Operand& values,
                         const Positional& positional, const Scalars& scalars) {
    const uint32_t kv_heads = config_.key_value_head_count;
    const Sizes masked_shape = Of({kv_heads, group_size(), rows_, keys_});
    const Sizes scores_shape = Of({kv_heads, Rows(group_size()), keys_});
    ASSIGN_OR_RETURN(Operand grouped, GroupHeads(query));
    ASSIGN_OR_RETURN(Operand keys_transposed,
                     builder_.Transpose(keys, {.permutation = std::vector<uint32_t>{0, 2, 1}}));
    ASSIGN_OR_RETURN(Operand products, builder_.Matmul(grouped, keys_transposed));
    ASSIGN_OR_RETURN(Operand scaled, builder_.Mul(products, scalars.attention_scale));
    ASSIGN_OR_RETURN(Operand by_row, builder_.Reshape(scaled, masked_shape));
    ASSIGN_OR_RETURN(Operand masked, builder_.Add(by_row, positional.mask));
    ASSIGN_OR_RETURN(Operand probabilities, builder_.Softmax(masked, 3));
    ASSIGN_OR_RETURN(Operand scores, builder_.Reshape(probabilities, scores_shape));
    ASSIGN_OR_RETURN(Operand attended, builder_.Matmul(scores, values));
    return UngroupHeads(attended);
  }

  Result<Operand> Attention(const Operand& x, uint32_t index, const Positional& positional,
                            const Scalars& scalars) {
    const DeviceLayer& layer = weights_.layers[index];
    ASSIGN_OR_RETURN(Operand query, Project(builder_, x, layer.query, layer.query_bias));
    ASSIGN_OR_RETURN(Operand key, Project(builder_, x, layer.key, layer.key_bias));
    ASSIGN_OR_RETURN(Operand value, Project(builder_, x, layer.value, layer.value_bias));
    ASSIGN_OR_RETURN(query, Rotate(query, config_.head_count, positional));
    ASSIGN_OR_RETURN(key, Rotate(key, config_.key_value_head_count, positional));
    ASSIGN_OR_RETURN(
        value,
        builder_.Reshape(value, Of({rows_, config_.key_value_head_count, config_.head_dim})));
    ASSIGN_OR_RETURN(Operand keys,
                     UpdateCache(past_keys_[index], PresentKeyName(index), key, positional));
    ASSIGN_OR_RETURN(Operand values,
                     UpdateCache(past_values_[index], PresentValueName(index), value, positional));
    ASSIGN_OR_RETURN(Operand attended, Attend(query, keys, values, positional, scalars));
    return Project(builder_, attended, layer.attention_output);
  }

  // down(silu(gate(x)) * up(x)).
  Result<Operand> GatedMlp(const Operand& x, const DeviceLayer& layer) {
    ASSIGN_OR_RETURN(Operand gate, Project(builder_, x, layer.gate));
    ASSIGN_OR_RETURN(Operand up, Project(builder_, x, layer.up));
    ASSIGN_OR_RETURN(Operand sigmoid, builder_.Sigmoid(gate));
    ASSIGN_OR_RETURN(Operand silu, builder_.Mul(gate, sigmoid));
    ASSIGN_OR_RETURN(Operand gated, builder_.Mul(silu, up));
    return Project(builder_, gated, layer.down);
  }

  Result<Operand> Layer(const Operand& x, uint32_t index, const Positional& positional,
                        const Scalars& scalars) {
    const DeviceLayer& layer = weights_.layers[index];
    ASSIGN_OR_RETURN(Operand normalized, RmsNorm(x, *layer.attention_norm, scalars));
    ASSIGN_OR_RETURN(Operand attention, Attention(normalized, index, positional, scalars));
    ASSIGN_OR_RETURN(Operand middle, builder_.Add(x, attention));
    ASSIGN_OR_RETURN(normalized, RmsNorm(middle, *layer.mlp_norm, scalars));
    ASSIGN_OR_RETURN(Operand mlp, GatedMlp(normalized, layer));
    return builder_.Add(middle, mlp);
  }

  uint32_t group_size() const { return config_.head_count / config_.key_value_head_count; }

  GraphBuilder builder_;
  const ModelConfig& config_;
  const DeviceWeights& weights_;
  const GraphSpec spec_;
  const Dimension rows_;
  const Dimension keys_;  // Positions that a row may look at, and some that it may not.
  std::vector<Operand> past_keys_;
  std::vector<Operand> past_values_;
  webnn::NamedOperands outputs_;
};

}  // namespace

std::string PastKeyName(uint32_t layer) { return fmt::format("past_key_{}", layer); }
std::string PastValueName(uint32_t layer) { return fmt::format("past_value_{}", layer); }
std::string PresentKeyName(uint32_t layer) { return fmt::format("present_key_{}", layer); }
std::string PresentValueName(uint32_t layer) { return fmt::format("present_value_{}", layer); }

Result<std::shared_ptr<webnn::Graph>> BuildLlamaGraph(
    webnn::ML& ml, const std::shared_ptr<webnn::Context>& context, const ModelConfig& config,
    const DeviceWeights& weights, const GraphSpec& spec) {
  LlamaBuilder builder(context, config, weights, spec);
  auto building = builder.Build();
  auto graph = building.ok() ? ml.Wait(*building)
                             : Result<std::shared_ptr<webnn::Graph>>(std::move(building).error());
  if (!graph.ok()) {
    return std::move(graph).error().AddContext(
        fmt::format("building the graph for {} tokens", spec.rows));
  }
  return graph;
}

}  // namespace webnnd::generate
