#include "service/spirv/specialize.h"

#include <algorithm>
#include <map>
#include <random>
#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "service/spirv/instruction.h"
#include "shaders/shader_table.h"

namespace webnnd::service::spirv {
namespace {

using spv::Op;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Words = std::vector<uint32_t>;

// A kernel that stores words to the buffer %out, at %at, through functions of its own. Constants:
// %a (SpecId 1), a number, and %flag (SpecId 2).
constexpr const char* kHead = R"(
OpCapability Shader
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %out %in %id
OpExecutionMode %main LocalSize 1 1 1
OpName %main "main"
OpDecorate %local_size SpecId 0
OpDecorate %size BuiltIn WorkgroupSize
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %a SpecId 1
OpDecorate %flag SpecId 2
OpDecorate %words ArrayStride 4
OpMemberDecorate %Words 0 Offset 0
OpDecorate %Words Block
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 1
@
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%uint3 = OpTypeVector %uint 3
%main_type = OpTypeFunction %void
%local = OpTypePointer Function %uint
%local_float = OpTypePointer Function %float
%of_local = OpTypeFunction %uint %local
%of_value = OpTypeFunction %uint %uint
%of_float = OpTypeFunction %float %local %local_float
%words = OpTypeRuntimeArray %uint
%Words = OpTypeStruct %words
%Words_buffer = OpTypePointer StorageBuffer %Words
%word = OpTypePointer StorageBuffer %uint
%out = OpVariable %Words_buffer StorageBuffer
%in = OpVariable %Words_buffer StorageBuffer
%id_pointer = OpTypePointer Input %uint3
%id = OpVariable %id_pointer Input
%true = OpConstantTrue %bool
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u3 = OpConstant %uint 3
%u7 = OpConstant %uint 7
%u8 = OpConstant %uint 8
%u9 = OpConstant %uint 9
%f1 = OpConstant %float 1
%local_size = OpSpecConstant %uint 1
%size = OpSpecConstantComposite %uint3 %local_size %u1 %u1
%a = OpSpecConstant %uint 0
%flag = OpSpecConstantFalse %bool
%is_seven = OpSpecConstantOp %bool IEqual %a %u7
)";

// The variables that follow the label come first.
std::string Main(const std::string& variables, const std::string& body) {
  return "%main = OpFunction %void None %main_type\n%entry = OpLabel\n" + variables +
         "\n%at = OpAccessChain %word %out %u0 %u0\n%from = OpAccessChain %word %in %u0 %u0\n"
         "%loaded = OpLoad %uint %from\n%unknown = OpIEqual %bool %loaded %u1\n" +
         body + "\nOpReturn\nOpFunctionEnd\n";
}

class SpecializeTest : public testing::Test {
 protected:
  SpecializeTest() {
    tools_.SetMessageConsumer([this](spv_message_level_t, const char*, const spv_position_t&,
                                     const char* message) { messages_ += message; });
  }

  // Both are valid, or the test fails.
  Words Specialized(const std::string& functions,
                    const std::map<uint32_t, uint32_t>& constants = {}) {
    std::string text = kHead + functions;
    const bool has_precise = functions.find("%precise =") != std::string::npos;
    text.replace(text.find('@'), 1, has_precise ? "OpDecorate %precise NoContraction" : "");
    Words code;
    EXPECT_TRUE(tools_.Assemble(text, &code)) << messages_;
    return Specialized(code, constants);
  }
  Words Specialized(std::span<const uint32_t> code, const std::map<uint32_t, uint32_t>& constants) {
    EXPECT_TRUE(tools_.Validate(code.data(), code.size())) << messages_;
    Words result = Specialize(code, constants);
    EXPECT_TRUE(tools_.Validate(result)) << messages_ << "\n" << Text(result);
    for (const Instruction& instruction : InstructionsOf(result)) {
      EXPECT_NE(instruction.op(), Op::OpSpecConstant);
      EXPECT_NE(instruction.op(), Op::OpSpecConstantOp);
    }
    return result;
  }

  std::string Text(const Words& code) {
    std::string text;
    tools_.Disassemble(code, &text);
    return text;
  }

  spvtools::SpirvTools tools_{SPV_ENV_VULKAN_1_2};
  std::string messages_;
};

size_t Count(const Words& code, Op op) {
  const std::vector<Instruction> all = InstructionsOf(code);
  return std::count_if(all.begin(), all.end(), [&](const auto& i) { return i.op() == op; });
}

// What is stored, in order: the value of constants, kLoaded of anything else.
constexpr uint32_t kLoaded = 1000;
Words Stored(const Words& code) {
  std::map<Id, uint32_t> values;
  Words stored;
  for (const Instruction& instruction : InstructionsOf(code)) {
    if (instruction.op() == Op::OpConstant) {
      values[instruction.result()] = instruction.operands()[0];
    }
    if (instruction.op() == Op::OpStore) {
      const auto found = values.find(instruction.operands()[1]);
      stored.push_back(found == values.end() ? kLoaded : found->second);
    }
  }
  return stored;
}

const std::string kIfSeven = Main("", R"(
OpSelectionMerge %end None
OpBranchConditional %is_seven %then %else
%then = OpLabel
OpStore %at %u1
OpBranch %end
%else = OpLabel
OpStore %at %u2
OpBranch %end
%end = OpLabel
)");

TEST_F(SpecializeTest, BranchOfAKnownConditionIsOneSide) {
  const Words seven = Specialized(kIfSeven, {{1, 7}});
  EXPECT_THAT(Stored(seven), ElementsAre(1));
  EXPECT_EQ(Count(seven, Op::OpBranchConditional), 0u);
  EXPECT_EQ(Count(seven, Op::OpSelectionMerge), 0u);
  EXPECT_THAT(Stored(Specialized(kIfSeven, {{1, 8}})), ElementsAre(2));
}

TEST_F(SpecializeTest, ConstantsWithoutAValueKeepTheirDefaults) {
  EXPECT_THAT(Stored(Specialized(kIfSeven)), ElementsAre(2));
  const std::string by_flag = Main("", R"(
%chosen = OpSelect %uint %flag %u8 %u9
OpStore %at %chosen)");
  EXPECT_THAT(Stored(Specialized(by_flag)), ElementsAre(9));
  EXPECT_THAT(Stored(Specialized(by_flag, {{2, 1}})), ElementsAre(8));
}

TEST_F(SpecializeTest, BranchOfAnUnknownConditionStays) {
  const Words code = Specialized(Main("", R"(
OpSelectionMerge %end None
OpBranchConditional %unknown %then %end
%then = OpLabel
OpStore %at %u1
OpBranch %end
%end = OpLabel)"));
  EXPECT_EQ(Count(code, Op::OpBranchConditional), 1u);
  EXPECT_THAT(Stored(code), ElementsAre(1));
}

// Both of its sides return, so that nothing leads to where it ends.
TEST_F(SpecializeTest, EndsThatNothingLeadsToAreUnreachable) {
  const Words code = Specialized(R"(
%f = OpFunction %uint None %of_value
%x = OpFunctionParameter %uint
%begin = OpLabel
%is_one = OpIEqual %bool %x %u1
OpSelectionMerge %end None
OpBranchConditional %is_one %then %else
%then = OpLabel
OpReturnValue %u8
%else = OpLabel
OpReturnValue %u9
%end = OpLabel
OpUnreachable
OpFunctionEnd
)" + Main("", "%y = OpFunctionCall %uint %f %loaded\nOpStore %at %y"));
  EXPECT_EQ(Count(code, Op::OpUnreachable), 1u);
  EXPECT_EQ(Count(code, Op::OpReturnValue), 2u);
}

// As glslang passes arguments: what it loads of a parameter is known where all call it so.
const std::string kIsSeven = R"(
%f = OpFunction %uint None %of_local
%x = OpFunctionParameter %local
%begin = OpLabel
%xx = OpLoad %uint %x
%same = OpIEqual %bool %xx %u7
OpSelectionMerge %end None
OpBranchConditional %same %then %end
%then = OpLabel
OpReturnValue %u8
%end = OpLabel
OpReturnValue %u9
OpFunctionEnd
)";

TEST_F(SpecializeTest, ResultsThatAreKnownNeedNoCall) {
  const std::string code = kIsSeven + Main("%p = OpVariable %local Function", R"(
OpStore %p %a
%y = OpFunctionCall %uint %f %p
OpStore %at %y)");
  const Words seven = Specialized(code, {{1, 7}});
  EXPECT_THAT(Stored(seven), ElementsAre(8));
  EXPECT_EQ(Count(seven, Op::OpFunction), 1u);
  EXPECT_EQ(Count(seven, Op::OpVariable), 1u);  // Of buffers one is left, of its own none.
  EXPECT_THAT(Stored(Specialized(code, {{1, 6}})), ElementsAre(9));
}

TEST_F(SpecializeTest, ArgumentsThatAreNotKnownAreStillPassed) {
  const Words code = Specialized(kIsSeven + Main("%p = OpVariable %local Function", R"(
OpStore %p %loaded
%y = OpFunctionCall %uint %f %p
OpStore %at %y)"));
  EXPECT_THAT(Stored(code), ElementsAre(kLoaded, kLoaded));
  EXPECT_EQ(Count(code, Op::OpFunctionParameter), 1u);
  EXPECT_EQ(Count(code, Op::OpBranchConditional), 1u);
}

// f(type, x): x, or x + x, which must be done as it is written.
const std::string kPrecise = R"(
%f = OpFunction %float None %of_float
%x = OpFunctionParameter %local
%y = OpFunctionParameter %local_float
%begin = OpLabel
%xx = OpLoad %uint %x
%yy = OpLoad %float %y
%same = OpIEqual %bool %xx %u0
OpSelectionMerge %end None
OpBranchConditional %same %then %end
%then = OpLabel
OpReturnValue %yy
%end = OpLabel
%scale = OpConvertUToF %float %xx
%precise = OpFAdd %float %yy %scale
OpReturnValue %precise
OpFunctionEnd
)";
std::string CallsOf(const std::string& first, const std::string& second) {
  return kPrecise +
         Main(R"(
%p = OpVariable %local Function
%q = OpVariable %local_float Function
%r = OpVariable %local Function)",
              "%as_float = OpBitcast %float %loaded\nOpStore %q %as_float\nOpStore %p " + first +
                  "\n%y1 = OpFunctionCall %float %f %p %q\nOpStore %r " + second + R"(
%y2 = OpFunctionCall %float %f %r %q
%sum = OpFMul %float %y1 %y2
%bits = OpBitcast %uint %sum
OpStore %at %bits)");
}

TEST_F(SpecializeTest, FunctionsStandOnceForEachSetOfKnownArguments) {
  const Words different = Specialized(CallsOf("%u1", "%u2"));
  EXPECT_EQ(Count(different, Op::OpFunction), 3u);
  EXPECT_EQ(Count(different, Op::OpFunctionParameter), 2u);
  EXPECT_EQ(Count(different, Op::OpFAdd), 2u);
  EXPECT_EQ(Count(Specialized(CallsOf("%u2", "%u2")), Op::OpFunction), 2u);
  EXPECT_EQ(Count(Specialized(CallsOf("%u0", "%u2")), Op::OpFAdd), 1u);
}

TEST_F(SpecializeTest, DecorationsFollowEachCopy) {
  const auto precise = [](const Words& code) {
    std::vector<Id> decorated;
    std::vector<Id> sums;
    for (const Instruction& instruction : InstructionsOf(code)) {
      if (instruction.op() == Op::OpFAdd) sums.push_back(instruction.result());
      if (instruction.op() == Op::OpDecorate &&
          static_cast<spv::Decoration>(instruction.operands()[1]) ==
              spv::Decoration::NoContraction) {
        decorated.push_back(instruction.operands()[0]);
      }
    }
    EXPECT_THAT(decorated, testing::UnorderedElementsAreArray(sums));
    return sums.size();
  };
  EXPECT_EQ(precise(Specialized(CallsOf("%u1", "%u2"))), 2u);
  EXPECT_EQ(precise(Specialized(CallsOf("%loaded", "%loaded"))), 1u);
  EXPECT_EQ(precise(Specialized(CallsOf("%u0", "%u0"))), 0u);
}

// It stores 7 to the buffer, and returns 8.
TEST_F(SpecializeTest, CallsThatStoreAreMadeThoughTheirResultIsKnown) {
  const Words code = Specialized(R"(
%f = OpFunction %uint None %of_value
%x = OpFunctionParameter %uint
%begin = OpLabel
%there = OpAccessChain %word %out %u0 %u1
OpStore %there %u7
OpReturnValue %u8
OpFunctionEnd
)" + Main("", "%y = OpFunctionCall %uint %f %loaded\nOpStore %at %y"));
  EXPECT_THAT(Stored(code), UnorderedElementsAre(7, 8));
  EXPECT_EQ(Count(code, Op::OpFunctionCall), 1u);
}

TEST_F(SpecializeTest, WhatAFunctionWritesToItsArgumentIsNotKnown) {
  const Words code = Specialized(R"(
%g = OpFunction %uint None %of_local
%z = OpFunctionParameter %local
%g_begin = OpLabel
%number = OpLoad %uint %z
%more = OpIAdd %uint %number %u1
OpStore %z %more
OpReturnValue %u0
OpFunctionEnd
%f = OpFunction %uint None %of_local
%x = OpFunctionParameter %local
%begin = OpLabel
%nothing = OpFunctionCall %uint %g %x
OpReturnValue %u0
OpFunctionEnd
)" + Main("%p = OpVariable %local Function", R"(
OpStore %p %u7
%y = OpFunctionCall %uint %f %p
%now = OpLoad %uint %p
OpStore %at %now)"));
  EXPECT_EQ(Count(code, Op::OpFunctionCall), 2u);
  EXPECT_THAT(Stored(code), UnorderedElementsAre(7, kLoaded, kLoaded));
}

std::string StoreOnTwoSides(const std::string& condition, const std::string& first,
                            const std::string& second) {
  return Main("%p = OpVariable %local Function",
              "OpSelectionMerge %end None\nOpBranchConditional " + condition +
                  " %then %else\n%then = OpLabel\nOpStore %p " + first +
                  "\nOpBranch %end\n%else = OpLabel\nOpStore %p " + second + R"(
OpBranch %end
%end = OpLabel
%value = OpLoad %uint %p
OpStore %at %value)");
}

TEST_F(SpecializeTest, VariablesAreKnownByTheStoresThatMayRun) {
  EXPECT_THAT(Stored(Specialized(StoreOnTwoSides("%is_seven", "%u8", "%loaded"), {{1, 7}})),
              ElementsAre(8));
  EXPECT_THAT(Stored(Specialized(StoreOnTwoSides("%unknown", "%u8", "%u8"))), ElementsAre(8));
  EXPECT_THAT(Stored(Specialized(StoreOnTwoSides("%unknown", "%u8", "%u9"))),
              ElementsAre(8, 9, kLoaded));
  EXPECT_THAT(Stored(Specialized(StoreOnTwoSides("%unknown", "%u8", "%loaded"))),
              ElementsAre(8, kLoaded, kLoaded));
}

TEST_F(SpecializeTest, VariablesThatNobodyReadsAreGone) {
  const Words code = Specialized(Main("%p = OpVariable %local Function", R"(
%twice = OpIAdd %uint %loaded %loaded
OpStore %p %twice
OpStore %at %u1)"));
  EXPECT_EQ(Count(code, Op::OpIAdd), 0u);
  EXPECT_EQ(Count(code, Op::OpLoad), 0u);
  EXPECT_THAT(Stored(code), ElementsAre(1));
}

std::string Loop(const std::string& end, const std::string& body) {
  return Main("%i = OpVariable %local Function", R"(
OpStore %i %u0
OpBranch %header
%header = OpLabel
OpLoopMerge %end %continue None
OpBranch %test
%test = OpLabel
%now = OpLoad %uint %i
%more = OpULessThan %bool %now )" + end + R"(
OpBranchConditional %more %body %end
%body = OpLabel
)" + body + R"(
%continue = OpLabel
%last = OpLoad %uint %i
%next = OpIAdd %uint %last %u1
OpStore %i %next
OpBranch %header
%end = OpLabel)");
}

TEST_F(SpecializeTest, CountersOfLoopsAreNotKnown) {
  const Words code = Specialized(Loop("%a", "OpStore %at %now\nOpBranch %continue"), {{1, 7}});
  EXPECT_EQ(Count(code, Op::OpLoopMerge), 1u);
  EXPECT_EQ(Count(code, Op::OpBranchConditional), 1u);
  EXPECT_THAT(Stored(code), ElementsAre(0, kLoaded, kLoaded));
}

// What continues a loop must be there, though its body always leaves.
TEST_F(SpecializeTest, LoopsThatNeverTurnStayLoops) {
  const Words code = Specialized(Loop("%loaded", R"(
OpSelectionMerge %stays None
OpBranchConditional %is_seven %leaves %stays
%leaves = OpLabel
OpStore %at %u8
OpBranch %end
%stays = OpLabel
OpBranch %continue)"),
                                 {{1, 7}});
  EXPECT_EQ(Count(code, Op::OpLoopMerge), 1u);
  EXPECT_EQ(Count(code, Op::OpIAdd), 0u);
  EXPECT_THAT(Stored(code), testing::Contains(8u));
}

// do { ... } while (false)
TEST_F(SpecializeTest, LoopsThatEndAfterTheirFirstTurnStayLoops) {
  const std::string loop = Main("", R"(
OpBranch %header
%header = OpLabel
OpLoopMerge %end %continue None
OpBranch %body
%body = OpLabel
OpStore %at %u1
OpBranch %continue
%continue = OpLabel
OpBranchConditional %flag %header %end
%end = OpLabel
OpStore %at %u2)");
  EXPECT_THAT(Stored(Specialized(loop)), ElementsAre(1, 2));
  EXPECT_THAT(Stored(Specialized(loop, {{2, 1}})), ElementsAre(1));
}

// glslang puts the default before what leads to it.
TEST_F(SpecializeTest, CasesFollowThoseThatLeadToThem) {
  const std::string falls_through = Main("", R"(
OpSelectionMerge %end None
OpSwitch %a %default 7 %seven 8 %eight
%default = OpLabel
OpStore %at %u1
OpBranch %end
%seven = OpLabel
OpStore %at %u2
OpBranch %default
%eight = OpLabel
OpStore %at %u3
OpBranch %end
%end = OpLabel)");
  EXPECT_THAT(Stored(Specialized(falls_through, {{1, 7}})), ElementsAre(2, 1));
  EXPECT_THAT(Stored(Specialized(falls_through, {{1, 8}})), ElementsAre(3));
}

TEST_F(SpecializeTest, LengthsOfArraysAreOfTheSameMember) {
  const Words code = Specialized(Main("", R"(
%length = OpArrayLength %uint %in 0
OpStore %at %length)"));
  EXPECT_EQ(Count(code, Op::OpArrayLength), 1u);
}

TEST_F(SpecializeTest, FunctionsThatNobodyCallsAreGone) {
  const std::string maybe = kIsSeven + Main("%p = OpVariable %local Function", R"(
OpStore %p %loaded
%y = OpFunctionCall %uint %f %p
%chosen = OpSelect %uint %flag %y %u1
OpStore %at %chosen)");
  EXPECT_EQ(Count(Specialized(maybe), Op::OpFunction), 1u);
  EXPECT_EQ(Count(Specialized(maybe, {{2, 1}}), Op::OpFunction), 2u);
}

TEST_F(SpecializeTest, WhatIsChosenIsKnownThoughTheOtherIsNot) {
  const Words code = Specialized(Main("", R"(
%chosen = OpSelect %uint %is_seven %u8 %loaded
%is_eight = OpIEqual %bool %chosen %u8
%number = OpSelect %uint %is_eight %u1 %u2
OpStore %at %number)"),
                                 {{1, 7}});
  EXPECT_THAT(Stored(code), ElementsAre(1));
}

const std::string kSwitch = Main("", R"(
OpSelectionMerge %end None
OpSwitch %a %default 7 %seven 8 %eight
%default = OpLabel
OpStore %at %u1
OpBranch %end
%seven = OpLabel
OpSelectionMerge %goes_on None
OpBranchConditional %unknown %breaks %goes_on
%breaks = OpLabel
OpBranch %end
%goes_on = OpLabel
OpStore %at %u2
OpBranch %end
%eight = OpLabel
OpStore %at %u3
OpBranch %end
%end = OpLabel)");

TEST_F(SpecializeTest, SwitchesOfAKnownNumberHaveOneCase) {
  EXPECT_THAT(Stored(Specialized(kSwitch, {{1, 1}})), ElementsAre(1));
  EXPECT_THAT(Stored(Specialized(kSwitch, {{1, 7}})), ElementsAre(2));
  EXPECT_THAT(Stored(Specialized(kSwitch, {{1, 8}})), ElementsAre(3));
}

TEST_F(SpecializeTest, SwitchesWhoseCasesReturnAreGone) {
  const Words code = Specialized(R"(
%f = OpFunction %uint None %of_value
%x = OpFunctionParameter %uint
%begin = OpLabel
OpSelectionMerge %end None
OpSwitch %a %end 7 %seven 8 %eight
%seven = OpLabel
%sum = OpIAdd %uint %x %u1
OpReturnValue %sum
%eight = OpLabel
OpReturnValue %x
%end = OpLabel
OpReturnValue %u0
OpFunctionEnd
)" + Main("", "%y = OpFunctionCall %uint %f %loaded\nOpStore %at %y"),
                                 {{1, 7}});
  EXPECT_EQ(Count(code, Op::OpSwitch), 0u);
  EXPECT_EQ(Count(code, Op::OpIAdd), 1u);
  EXPECT_EQ(Count(code, Op::OpReturnValue), 1u);
}

std::string AndThen(const std::string& first) {
  return Main("", "OpSelectionMerge %end None\nOpBranchConditional " + first + R"( %then %end
%then = OpLabel
%second = OpULessThan %bool %loaded %u9
OpBranch %end
%end = OpLabel
%both = OpPhi %bool %flag %entry %second %then
%number = OpSelect %uint %both %u8 %u9
OpStore %at %number)");
}

TEST_F(SpecializeTest, PhisKeepTheSidesThatMayRun) {
  EXPECT_THAT(Stored(Specialized(AndThen("%is_seven"), {{1, 6}})), ElementsAre(9));
  const Words same = Specialized(AndThen("%is_seven"), {{1, 7}});
  EXPECT_EQ(Count(same, Op::OpPhi), 0u);
  EXPECT_EQ(Count(same, Op::OpSelect), 1u);
  EXPECT_EQ(Count(Specialized(AndThen("%unknown")), Op::OpPhi), 1u);
}

// The first side is ruled out, the others are not.
TEST_F(SpecializeTest, PhisForgetSidesThatNeverRun) {
  const Words code = Specialized(Main("", R"(
OpSelectionMerge %end None
OpBranchConditional %is_seven %seven %other
%seven = OpLabel
OpBranch %end
%other = OpLabel
OpSelectionMerge %other_end None
OpBranchConditional %unknown %one %other_end
%one = OpLabel
%sum = OpIAdd %uint %loaded %u1
OpBranch %other_end
%other_end = OpLabel
%inner = OpPhi %uint %loaded %other %sum %one
OpBranch %end
%end = OpLabel
%value = OpPhi %uint %u7 %seven %inner %other_end
OpSelectionMerge %last None
OpSwitch %loaded %last 1 %case_1 2 %case_2
%case_1 = OpLabel
OpBranchConditional %is_seven %last %case_2
%case_2 = OpLabel
OpBranch %last
%last = OpLabel
%all = OpPhi %uint %value %end %u8 %case_1 %u9 %case_2
OpStore %at %all)"));
  EXPECT_EQ(Count(code, Op::OpPhi), 2u);
  EXPECT_THAT(Stored(code), ElementsAre(kLoaded));
}

TEST_F(SpecializeTest, PhisOfLoopsAreNotKnown) {
  const Words code = Specialized(Main("", R"(
OpBranch %header
%header = OpLabel
%now = OpPhi %uint %u0 %entry %next %continue
OpLoopMerge %end %continue None
OpBranch %body
%body = OpLabel
OpStore %at %now
OpBranch %continue
%continue = OpLabel
%next = OpIAdd %uint %now %u1
%more = OpULessThan %bool %next %u9
OpBranchConditional %more %header %end
%end = OpLabel)"));
  EXPECT_EQ(Count(code, Op::OpPhi), 1u);
  EXPECT_THAT(Stored(code), ElementsAre(kLoaded));
}

TEST_F(SpecializeTest, TruthsThatDecideNothingAreLeftOut) {
  const std::string code = Main("", R"(
%and = OpLogicalAnd %bool %is_seven %unknown
%or = OpLogicalOr %bool %flag %and
%number = OpSelect %uint %or %u8 %u9
OpStore %at %number)");
  const Words unknown = Specialized(code, {{1, 7}});
  EXPECT_EQ(Count(unknown, Op::OpLogicalAnd) + Count(unknown, Op::OpLogicalOr), 0u);
  EXPECT_EQ(Count(unknown, Op::OpSelect), 1u);
  EXPECT_THAT(Stored(Specialized(code, {{1, 6}})), ElementsAre(9));
  EXPECT_THAT(Stored(Specialized(code, {{1, 6}, {2, 1}})), ElementsAre(8));
}

// Blocks follow those that dominate them, but a selection may end before its sides.
TEST_F(SpecializeTest, BlocksMayComeBeforeWhatLeadsToThem) {
  const Words code = Specialized(Main("%p = OpVariable %local Function", R"(
OpSelectionMerge %end None
OpBranchConditional %unknown %then %else
%end = OpLabel
%value = OpPhi %uint %u8 %then %u9 %else
OpStore %at %value
%sum = OpIAdd %uint %u1 %u2
OpStore %at %sum
OpReturn
%else = OpLabel
OpBranch %end
%then = OpLabel
OpStore %at %u1
OpBranch %end
%unused = OpLabel)"));
  EXPECT_THAT(Stored(code), UnorderedElementsAre(kLoaded, 3, 1));
  EXPECT_EQ(Count(code, Op::OpPhi), 1u);
}

TEST_F(SpecializeTest, TheSizeOfAWorkgroupIsAConstant) {
  const Words code = Specialized(Main("", R"(
%x = OpCompositeExtract %uint %size 0
OpStore %at %x)"),
                                 {{0, 64}});
  EXPECT_EQ(Count(code, Op::OpConstantComposite), 1u);
  EXPECT_THAT(Text(code), testing::HasSubstr("BuiltIn WorkgroupSize"));
  EXPECT_THAT(Text(code), testing::HasSubstr("%uint_64 %uint_1 %uint_1"));
}

TEST_F(SpecializeTest, TheSizeOfAWorkgroupIsKeptThoughNobodyUsesIt) {
  const Words code = Specialized(Main("", "OpStore %at %u1"), {{0, 64}});
  EXPECT_THAT(Text(code), testing::HasSubstr("BuiltIn WorkgroupSize"));
}

TEST_F(SpecializeTest, BuffersThatNobodyUsesAreGone) {
  EXPECT_EQ(Count(Specialized(Main("", "OpStore %at %u1")), Op::OpVariable), 1u);
  EXPECT_EQ(Count(Specialized(Main("", "OpStore %at %loaded")), Op::OpVariable), 2u);
}

// Whatever the constants are, also such as no kernel has. Those that make an array of no elements
// are as invalid before.
TEST_F(SpecializeTest, EachModuleStaysValid) {
  std::mt19937 random(1);
  size_t words = 0;
  size_t words_left = 0;
  uint32_t modules = 0;
  uint32_t without_elements = 0;
  for (uint32_t shader = 0; shader < shaders::kShaderCount; ++shader) {
    const auto id = static_cast<shaders::ShaderId>(shader);
    for (size_t variant = 0; variant < shaders::kVariantCount; ++variant) {
      const std::span<const uint32_t> code =
          shaders::Spirv(id, static_cast<shaders::Variant>(variant));
      for (int turn = 0; turn < 3; ++turn) {
        std::map<uint32_t, uint32_t> constants = {{0, 64}, {shaders::kSubgroupSizeConstant, 16}};
        for (uint32_t i = 1; i < 40; ++i) constants[i] = random() % 5;
        Words result = Specialize(code, constants);
        messages_.clear();
        if (!tools_.Validate(result)) {
          ASSERT_THAT(messages_, testing::HasSubstr("must be at least 1"))
              << shaders::ShaderName(id);
          ++without_elements;
        }
        EXPECT_EQ(result, Specialize(code, constants)) << shaders::ShaderName(id);
        words += code.size();
        words_left += result.size();
        ++modules;
      }
    }
  }
  EXPECT_LT(words_left, words / 2);
  EXPECT_LT(without_elements, modules / 10);
}

}  // namespace
}  // namespace webnnd::service::spirv
