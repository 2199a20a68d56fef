#include <gtest/gtest.h>

#include <vector>

#include "tests/webidl/operators/infer_text.h"

namespace webnnd::webidl {
namespace {

using Activations = std::vector<RecurrentNetworkActivation>;
constexpr auto kTanh = RecurrentNetworkActivation::kTanh;
constexpr auto kBoth = RecurrentNetworkDirection::kBoth;

// 6 steps, batches of 3, 4 inputs, 5 hidden: weights of 15 rows (gru) or 20 (lstm).

TEST(Gru, FittingShapes_GiveTheStates) {
  const GruAttributes plain{.steps = 6, .hidden_size = 5};
  const GruAttributes both{.steps = 6, .hidden_size = 5, .direction = kBoth};
  const GruAttributes sequence{.steps = 6, .hidden_size = 5, .return_sequence = true};
  ExpectOutcomes(
      OperatorKind::kGru,
      {{"float32[6,3,4] float32[1,15,4] float32[1,15,5]", plain, "float32[1,3,5]"},
       {"float16[6,3,4] float16[2,15,4] float16[2,15,5]", both, "float16[2,3,5]"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5]", sequence,
        "float32[1,3,5] float32[6,1,3,5]"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] float32[1,15] float32[1,15] "
        "float32[1,3,5]",
        plain, "float32[1,3,5]"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] - - float32[1,3,5]", plain,
        "float32[1,3,5]"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5]",
        GruAttributes{.steps = 6, .hidden_size = 5, .activations = Activations(2, kTanh)},
        "float32[1,3,5]"}});
}

TEST(Gru, ShapesThatDoNotFit_AreRefused) {
  const GruAttributes plain{.steps = 6, .hidden_size = 5};
  const GruAttributes both{.steps = 6, .hidden_size = 5, .direction = kBoth};
  const char* operands = "float32[6,3,4] float32[1,15,4] float32[1,15,5]";
  ExpectOutcomes(
      OperatorKind::kGru,
      {{operands, GruAttributes{.steps = 5, .hidden_size = 5},
        "steps (5) is not the first dimension of input (6)"},
       {operands, GruAttributes{.steps = 0, .hidden_size = 5},
        "steps (0) is not the first dimension of input (6)"},
       {operands, both, "the shape of weight ([1,15,4]) is not the expected one ([2,15,4])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,15,5]", plain,
        "the shape of weight ([1,20,4]) is not the expected one ([1,15,4])"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,4]", plain,
        "the shape of recurrentWeight ([1,15,4]) is not the expected one ([1,15,5])"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] float32[1,5]", plain,
        "the shape of bias ([1,5]) is not the expected one ([1,15])"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] - float32[2,15]", plain,
        "the shape of recurrentBias ([2,15]) is not the expected one ([1,15])"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] - - float32[1,3,4]", plain,
        "the shape of initialHiddenState ([1,3,4]) is not the expected one ([1,3,5])"},
       {"float32[6,3,4] float16[1,15,4] float32[1,15,5]", plain,
        "the data type of weight (float16) is not that of input (float32)"},
       {"float32[6,3,4] float32[1,15,4] float32[1,15,5] - - float16[1,3,5]", plain,
        "the data type of initialHiddenState (float16) is not that of input (float32)"},
       {"float32[6,3] float32[1,15,4] float32[1,15,5]", plain,
        "the rank of input (2) is not its allowed rank (3)"},
       {operands, GruAttributes{.steps = 6, .hidden_size = 5, .activations = Activations(3, kTanh)},
        "the size of activations (3) is not the expected one (2)"},
       {operands, GruAttributes{.steps = 6, .hidden_size = 5, .activations = Activations{}},
        "the size of activations (0) is not the expected one (2)"}});
}

TEST(Gru, HiddenSize_LeavesRoomForBothBiases) {
  const char* operands = "float32[6,3,4] float32[1,15,4] float32[1,15,5]";
  const auto hidden = [](uint32_t size) { return GruAttributes{.steps = 6, .hidden_size = size}; };
  ExpectOutcomes(
      OperatorKind::kGru,
      {{operands, hidden(0), "hiddenSize (0) times 6 is not a valid dimension (1 to 2147483647)"},
       {operands, hidden(357913942),
        "hiddenSize (357913942) times 6 is not a valid dimension (1 to 2147483647)"},
       {operands, hidden(357913941),
        "the shape of weight ([1,15,4]) is not the expected one ([1,1073741823,4])"},
       // 3 * hiddenSize is 15 modulo 2^32.
       {operands, hidden(1431655770),
        "hiddenSize (1431655770) times 6 is not a valid dimension (1 to "
        "2147483647)"}});
}

// Input and weights are small, the sequence of states is not.
TEST(Gru, SequenceBeyondTheMaximum_IsRefused) {
  ExpectOutcomes(OperatorKind::kGru,
                 {{"float32[1024,512,1] float32[1,192,1] float32[1,192,64]",
                   GruAttributes{.steps = 1024, .hidden_size = 64, .return_sequence = true},
                   "float32[1,512,64] float32[1024,1,512,64]"},
                  {"float32[65536,512,1] float32[1,192,1] float32[1,192,64]",
                   GruAttributes{.steps = 65536, .hidden_size = 64, .return_sequence = true},
                   "the byte length of float32[65536,1,512,64] exceeds the maximum ($BYTES_MAX)"}});
}

TEST(Recurrent, OperandsOfAnotherType_AreRefused) {
  ExpectSameTypes(OperatorKind::kGru,
                  "float32[6,3,4] float32[1,15,4] float32[1,15,5] float32[1,15] float32[1,15] "
                  "float32[1,3,5]",
                  GruAttributes{.steps = 6, .hidden_size = 5});
  ExpectSameTypes(OperatorKind::kGruCell,
                  "float32[3,4] float32[15,4] float32[15,5] float32[3,5] float32[15] float32[15]",
                  GruCellAttributes{.hidden_size = 5});
  ExpectSameTypes(OperatorKind::kLstm,
                  "float32[6,3,4] float32[1,20,4] float32[1,20,5] float32[1,20] float32[1,20] "
                  "float32[1,15] float32[1,3,5] float32[1,3,5]",
                  LstmAttributes{.steps = 6, .hidden_size = 5});
  ExpectSameTypes(OperatorKind::kLstmCell,
                  "float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,5] float32[20] "
                  "float32[20] float32[15]",
                  LstmCellAttributes{.hidden_size = 5});
}

TEST(GruCell, FittingShapes_GiveTheState) {
  const GruCellAttributes plain{.hidden_size = 5};
  const char* operands = "float32[3,4] float32[15,4] float32[15,5] float32[3,5]";
  ExpectOutcomes(
      OperatorKind::kGruCell,
      {{operands, plain, "float32[3,5]"},
       {"float16[3,4] float16[15,4] float16[15,5] float16[3,5] float16[15] float16[15]", plain,
        "float16[3,5]"},
       {operands, GruCellAttributes{.hidden_size = 5, .activations = Activations(2, kTanh)},
        "float32[3,5]"},
       {operands, GruCellAttributes{.hidden_size = 4},
        "the shape of weight ([15,4]) is not the expected one ([12,4])"},
       {operands, GruCellAttributes{.hidden_size = 0},
        "hiddenSize (0) times 6 is not a valid dimension (1 to 2147483647)"},
       {operands, GruCellAttributes{.hidden_size = 5, .activations = Activations(1, kTanh)},
        "the size of activations (1) is not the expected one (2)"},
       {"float32[3,4] float32[15,4] float32[15,4] float32[3,5]", plain,
        "the shape of recurrentWeight ([15,4]) is not the expected one ([15,5])"},
       {"float32[3,4] float32[15,4] float32[15,5] float32[4,5]", plain,
        "the shape of hiddenState ([4,5]) is not the expected one ([3,5])"},
       {"float32[3,4] float32[15,4] float32[15,5] float32[3,5] float32[5]", plain,
        "the shape of bias ([5]) is not the expected one ([15])"},
       {"float32[3,4] float32[15,4] float32[15,5] float32[3,5] - float32[5]", plain,
        "the shape of recurrentBias ([5]) is not the expected one ([15])"},
       {"float32[3,4] float32[15,4] float32[15,5] float16[3,5]", plain,
        "the data type of hiddenState (float16) is not that of input (float32)"},
       {"float32[3,4] float32[15,4] float32[15,5]", plain,
        "the required operand (hiddenState) is absent"},
       {"float32[1,3,4] float32[15,4] float32[15,5] float32[3,5]", plain,
        "the rank of input (3) is not its allowed rank (2)"}});
}

TEST(Lstm, FittingShapes_GiveTheStates) {
  const LstmAttributes plain{.steps = 6, .hidden_size = 5};
  ExpectOutcomes(
      OperatorKind::kLstm,
      {{"float32[6,3,4] float32[1,20,4] float32[1,20,5]", plain, "float32[1,3,5] float32[1,3,5]"},
       {"float16[6,3,4] float16[2,20,4] float16[2,20,5]",
        LstmAttributes{.steps = 6, .hidden_size = 5, .return_sequence = true, .direction = kBoth},
        "float16[2,3,5] float16[2,3,5] float16[6,2,3,5]"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] float32[1,20] float32[1,20] float32[1,15] "
        "float32[1,3,5] float32[1,3,5]",
        plain, "float32[1,3,5] float32[1,3,5]"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5]",
        LstmAttributes{.steps = 6, .hidden_size = 5, .activations = Activations(3, kTanh)},
        "float32[1,3,5] float32[1,3,5]"}});
}

TEST(Lstm, ShapesThatDoNotFit_AreRefused) {
  const LstmAttributes plain{.steps = 6, .hidden_size = 5};
  const char* operands = "float32[6,3,4] float32[1,20,4] float32[1,20,5]";
  ExpectOutcomes(
      OperatorKind::kLstm,
      {{operands, LstmAttributes{.steps = 0, .hidden_size = 5},
        "steps (0) is not the first dimension of input (6)"},
       {operands, LstmAttributes{.steps = 6, .hidden_size = 268435456},
        "hiddenSize (268435456) times 8 is not a valid dimension (1 to 2147483647)"},
       {operands, LstmAttributes{.steps = 6, .hidden_size = 268435455},
        "the shape of weight ([1,20,4]) is not the expected one ([1,1073741820,4])"},
       {"float32[6,3,4] float32[2,20,4] float32[1,20,5]", plain,
        "the shape of weight ([2,20,4]) is not the expected one ([1,20,4])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,4]", plain,
        "the shape of recurrentWeight ([1,20,4]) is not the expected one ([1,20,5])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] float32[1,15]", plain,
        "the shape of bias ([1,15]) is not the expected one ([1,20])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] - float32[1,15]", plain,
        "the shape of recurrentBias ([1,15]) is not the expected one ([1,20])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] - - float32[1,20]", plain,
        "the shape of peepholeWeight ([1,20]) is not the expected one ([1,15])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] - - - float32[2,3,5]", plain,
        "the shape of initialHiddenState ([2,3,5]) is not the expected one ([1,3,5])"},
       {"float32[6,3,4] float32[1,20,4] float32[1,20,5] - - - - float32[1,5,3]", plain,
        "the shape of initialCellState ([1,5,3]) is not the expected one ([1,3,5])"},
       {"float32[6,3,4] float32[1,20,4] float16[1,20,5]", plain,
        "the data type of recurrentWeight (float16) is not that of input (float32)"},
       {operands,
        LstmAttributes{.steps = 6, .hidden_size = 5, .activations = Activations(2, kTanh)},
        "the size of activations (2) is not the expected one (3)"}});
}

TEST(LstmCell, FittingShapes_GiveTheStates) {
  const LstmCellAttributes plain{.hidden_size = 5};
  const char* operands = "float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,5]";
  ExpectOutcomes(
      OperatorKind::kLstmCell,
      {{operands, plain, "float32[3,5] float32[3,5]"},
       {"float16[3,4] float16[20,4] float16[20,5] float16[3,5] float16[3,5] float16[20] "
        "float16[20] float16[15]",
        plain, "float16[3,5] float16[3,5]"},
       {operands, LstmCellAttributes{.hidden_size = 4},
        "the shape of weight ([20,4]) is not the expected one ([16,4])"},
       {operands, LstmCellAttributes{.hidden_size = 0},
        "hiddenSize (0) times 8 is not a valid dimension (1 to 2147483647)"},
       {operands, LstmCellAttributes{.hidden_size = 5, .activations = Activations(4, kTanh)},
        "the size of activations (4) is not the expected one (3)"},
       {"float32[3,4] float32[20,4] float32[20,6] float32[3,5] float32[3,5]", plain,
        "the shape of recurrentWeight ([20,6]) is not the expected one ([20,5])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[1,5] float32[3,5]", plain,
        "the shape of hiddenState ([1,5]) is not the expected one ([3,5])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,6]", plain,
        "the shape of cellState ([3,6]) is not the expected one ([3,5])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,5] float32[5]", plain,
        "the shape of bias ([5]) is not the expected one ([20])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,5] - float32[5]", plain,
        "the shape of recurrentBias ([5]) is not the expected one ([20])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[3,5] float32[3,5] - - float32[20]", plain,
        "the shape of peepholeWeight ([20]) is not the expected one ([15])"},
       {"float32[3,4] float32[20,4] float32[20,5] float32[3,5] float16[3,5]", plain,
        "the data type of cellState (float16) is not that of input (float32)"}});
}

}  // namespace
}  // namespace webnnd::webidl
