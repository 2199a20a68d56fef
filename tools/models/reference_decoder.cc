#include "tools/models/reference_decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"

namespace webnnd::models {
namespace {

using generate::ModelConfig;
using generate::StoredTensor;
using Vector = std::vector<double>;

constexpr uint32_t kBlock = 32;

// Eight sums side by side: the compiler may not reorder one.
template <class T>
double Dot(const T* weights, const double* x, uint32_t count) {
  double sums[8] = {};
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (uint32_t lane = 0; lane < 8; ++lane) sums[lane] += weights[i + lane] * x[i + lane];
  }
  for (; i < count; ++i) sums[0] += weights[i] * x[i];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

// Rows of float32 numbers, or of blocks that share a scale.
class Matrix {
 public:
  static Result<Matrix> Read(const StoredTensor& stored, ReferenceFormat format) {
    Matrix matrix;
    matrix.columns_ = stored.shape.back();
    matrix.rows_ = static_cast<uint32_t>(stored.element_count() / matrix.columns_);
    bool quantize = format == ReferenceFormat::kQ4 && matrix.columns_ % kBlock == 0;
    std::vector<float> row(matrix.columns_);
    for (uint32_t r = 0; r < matrix.rows_; ++r) {
      TRY(stored.ReadRows(r, row));
      if (!quantize) {
        matrix.floats_.insert(matrix.floats_.end(), row.begin(), row.end());
        continue;
      }
      for (uint32_t b = 0; b < matrix.columns_; b += kBlock) matrix.AddBlock(&row[b]);
    }
    return matrix;
  }

  uint32_t rows() const { return rows_; }

  double RowTimes(uint32_t row, const Vector& x) const {
    uint64_t start = uint64_t{row} * columns_;
    if (scales_.empty()) return Dot(&floats_[start], x.data(), columns_);
    double sum = 0;
    for (uint32_t b = 0; b < columns_; b += kBlock) {
      sum += scales_[(start + b) / kBlock] * Dot(&differences_[start + b], &x[b], kBlock);
    }
    return sum;
  }

  Vector Times(const Vector& x) const {
    CHECK(x.size() == columns_);
    Vector result(rows_);
    for (uint32_t row = 0; row < rows_; ++row) result[row] = RowTimes(row, x);
    return result;
  }

  Vector Row(uint32_t row) const {
    uint64_t start = uint64_t{row} * columns_;
    Vector result(columns_);
    for (uint32_t i = 0; i < columns_; ++i) {
      result[i] = scales_.empty() ? double{floats_[start + i]}
                                  : double{scales_[(start + i) / kBlock]} * differences_[start + i];
    }
    return result;
  }

 private:
  // The codes 0 to 15 span the block's range, stretched to hold 0. Scale and codes are rounded as
  // float32 arithmetic rounds them, halves to even.
  void AddBlock(const float* block) {
    float low = std::min(0.0f, *std::min_element(block, block + kBlock));
    float high = std::max(0.0f, *std::max_element(block, block + kBlock));
    float scale = (high - low) / 15;
    if (scale == 0) scale = 1;
    float zero_point = std::nearbyint(-low / scale);
    scales_.push_back(scale);
    for (uint32_t i = 0; i < kBlock; ++i) {
      float code = std::nearbyint(block[i] / scale + zero_point);
      differences_.push_back(static_cast<int8_t>(std::clamp(code, 0.0f, 15.0f) - zero_point));
    }
  }

  uint32_t rows_ = 0;
  uint32_t columns_ = 0;
  std::vector<float> floats_;
  std::vector<int8_t> differences_;  // Codes less their zero point.
  std::vector<float> scales_;
};

Result<Vector> ReadVector(const StoredTensor& stored) {
  std::vector<float> floats(stored.element_count());
  TRY(stored.ReadRows(0, floats));
  return Vector(floats.begin(), floats.end());
}

struct Layer {
  Vector attention_norm, mlp_norm;
  Matrix query, key, value, output, gate, up, down;
  Vector query_bias, key_bias, value_bias;  // Empty where there are none.
  std::vector<Vector> keys, values;         // By position: all heads.
};

Result<Layer> ReadLayer(const generate::LayerWeights& stored, ReferenceFormat format) {
  Layer layer;
  ASSIGN_OR_RETURN(layer.attention_norm, ReadVector(stored.attention_norm));
  ASSIGN_OR_RETURN(layer.mlp_norm, ReadVector(stored.mlp_norm));
  ASSIGN_OR_RETURN(layer.query, Matrix::Read(stored.query, format));
  ASSIGN_OR_RETURN(layer.key, Matrix::Read(stored.key, format));
  ASSIGN_OR_RETURN(layer.value, Matrix::Read(stored.value, format));
  ASSIGN_OR_RETURN(layer.output, Matrix::Read(stored.attention_output, format));
  ASSIGN_OR_RETURN(layer.gate, Matrix::Read(stored.gate, format));
  ASSIGN_OR_RETURN(layer.up, Matrix::Read(stored.up, format));
  ASSIGN_OR_RETURN(layer.down, Matrix::Read(stored.down, format));
  if (stored.query_bias) {
    ASSIGN_OR_RETURN(layer.query_bias, ReadVector(*stored.query_bias));
    ASSIGN_OR_RETURN(layer.key_bias, ReadVector(*stored.key_bias));
    ASSIGN_OR_RETURN(layer.value_bias, ReadVector(*stored.value_bias));
  }
  return layer;
}

void Add(Vector& x, const Vector& addend) {
  for (size_t i = 0; i < addend.size(); ++i) x[i] += addend[i];
}

Vector Normalize(const Vector& x, const Vector& gain, double epsilon) {
  double square = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  double factor = 1 / std::sqrt(square / static_cast<double>(x.size()) + epsilon);
  Vector result(x.size());
  for (size_t i = 0; i < x.size(); ++i) result[i] = gain[i] * x[i] * factor;
  return result;
}

// Turns the pairs (j, j + head_dim / 2) of each head by position * theta^(-2j / head_dim).
void Rotate(Vector& heads, uint32_t head_dim, double theta, size_t position) {
  uint32_t half = head_dim / 2;
  for (size_t head = 0; head < heads.size(); head += head_dim) {
    for (uint32_t j = 0; j < half; ++j) {
      double angle = static_cast<double>(position) * std::pow(theta, -2.0 * j / head_dim);
      double a = heads[head + j], b = heads[head + j + half];
      heads[head + j] = a * std::cos(angle) - b * std::sin(angle);
      heads[head + j + half] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
}

Vector Attend(const Layer& layer, const Vector& query, const ModelConfig& config) {
  const uint32_t width = config.head_dim;
  const uint32_t group = config.head_count / config.key_value_head_count;
  Vector result(query.size());
  for (uint32_t head = 0; head < config.head_count; ++head) {
    const uint32_t from = head / group * width;
    Vector scores;
    for (const Vector& key : layer.keys) {
      scores.push_back(Dot(&key[from], &query[head * width], width) / std::sqrt(width));
    }
    double largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - largest);
    for (size_t at = 0; at < scores.size(); ++at) {
      for (uint32_t i = 0; i < width; ++i) {
        result[head * width + i] += scores[at] / total * layer.values[at][from + i];
      }
    }
  }
  return result;
}

Vector GatedMlp(const Layer& layer, const Vector& x) {
  Vector gate = layer.gate.Times(x);
  Vector up = layer.up.Times(x);
  for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
  return layer.down.Times(gate);
}

}  // namespace

struct ReferenceDecoder::State {
  ModelConfig config;
  Matrix embedding;
  std::vector<Layer> layers;
  Vector final_norm;
  std::optional<Matrix> head;
  size_t position = 0;
};

ReferenceDecoder::ReferenceDecoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReferenceDecoder::ReferenceDecoder(ReferenceDecoder&&) = default;
ReferenceDecoder::~ReferenceDecoder() = default;

Result<ReferenceDecoder> ReferenceDecoder::Create(const generate::Model& model,
                                                  ReferenceFormat format) {
  auto state = std::make_unique<State>();
  state->config = model.config;
  ASSIGN_OR_RETURN(state->embedding, Matrix::Read(model.weights.embedding, format));
  for (const generate::LayerWeights& stored : model.weights.layers) {
    ASSIGN_OR_RETURN(Layer layer, ReadLayer(stored, format));
    state->layers.push_back(std::move(layer));
  }
  ASSIGN_OR_RETURN(state->final_norm, ReadVector(model.weights.final_norm));
  if (model.weights.head) {
    ASSIGN_OR_RETURN(state->head, Matrix::Read(*model.weights.head, format));
  }
  return ReferenceDecoder(std::move(state));
}

std::vector<double> ReferenceDecoder::Feed(int32_t id) {
  State& s = *state_;
  const ModelConfig& config = s.config;
  Vector x = s.embedding.Row(static_cast<uint32_t>(id));
  for (Layer& layer : s.layers) {
    Vector normalized = Normalize(x, layer.attention_norm, config.norm_epsilon);
    Vector query = layer.query.Times(normalized);
    Vector key = layer.key.Times(normalized);
    Vector value = layer.value.Times(normalized);
    Add(query, layer.query_bias);
    Add(key, layer.key_bias);
    Add(value, layer.value_bias);
    Rotate(query, config.head_dim, config.rope_theta, s.position);
    Rotate(key, config.head_dim, config.rope_theta, s.position);
    layer.keys.push_back(std::move(key));
    layer.values.push_back(std::move(value));
    Add(x, layer.output.Times(Attend(layer, query, config)));
    Add(x, GatedMlp(layer, Normalize(x, layer.mlp_norm, config.norm_epsilon)));
  }
  ++s.position;
  const Matrix& head = s.head ? *s.head : s.embedding;
  return head.Times(Normalize(x, s.final_norm, config.norm_epsilon));
}

std::vector<GreedyStep> GenerateGreedily(ReferenceDecoder& decoder,
                                         std::span<const int32_t> prompt_ids, uint32_t count) {
  CHECK(!prompt_ids.empty());
  for (int32_t id : prompt_ids.first(prompt_ids.size() - 1)) decoder.Feed(id);
  int32_t fed = prompt_ids.back();
  std::vector<GreedyStep> steps;
  while (steps.size() < count) {
    GreedyStep step{.logits = decoder.Feed(fed)};
    auto best = std::max_element(step.logits.begin(), step.logits.end());
    double second = -INFINITY;
    for (auto at = step.logits.begin(); at != step.logits.end(); ++at) {
      if (at != best) second = std::max(second, *at);
    }
    fed = step.id = static_cast<int32_t>(best - step.logits.begin());
    step.gap = *best - second;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace webnnd::models
