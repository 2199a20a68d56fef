"""Checks what tools/coverage makes of llvm-cov's answers, without building or running anything."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "coverage")


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("coverage_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("coverage_tool", loader))
    loader.exec_module(module)
    return module


MODULE = load()
SOURCE = """int F(int a, int b) {
  CHECK(a >= 0 && (b >= 0));
  TRY(G(a));
  return a > b ? 1 : 2;
}
bool operator==(const Frame&, const Frame&) = default;
"""
CODE, BRANCH = 0, 4
FILES = ["../../ipc/frame.cc", "../../base/check.h", "../../base/result.h"]


def function(*branches):
    """A function of ipc/frame.cc as llvm-cov 14 exports it: CHECK and TRY are expanded in it."""
    return {"filenames": FILES,
            "regions": [[1, 21, 5, 2, 1, 0, 0, CODE],
                        [2, 3, 2, 8, 1, 0, 1, MODULE.EXPANSION],
                        [3, 3, 3, 6, 1, 0, 2, MODULE.EXPANSION]],
            "branches": [[*place, true, false, file, 0, BRANCH]
                         for place, true, false, file in branches]}


IN_CHECK = ((13, 11, 13, 20), 1, 0, 1)
IN_TRY = ((166, 9, 166, 25), 0, 1, 2)


class CoverageToolTest(unittest.TestCase):
    def setUp(self):
        self.branches = MODULE.Branches(lambda path: SOURCE)

    def seen(self):
        return sorted(self.branches.outcomes.values())

    def test_conditions_of_assertions_are_counted_apart(self):
        self.branches.add(function(IN_CHECK, IN_CHECK, IN_TRY))
        self.assertEqual(len(self.branches.assertions), 2)
        self.assertEqual(self.seen(), [[False, True]])
        # Where clang places the argument in the source itself.
        self.branches.add(function(((2, 19, 2, 27), 1, 0, 0)))
        self.assertEqual(len(self.branches.assertions), 3)
        self.assertEqual(self.seen(), [[False, True]])

    def test_conditions_of_defaulted_comparisons_are_counted_apart(self):
        self.branches.add(function(((6, 45, 6, 46), 3, 0, 0), ((6, 45, 6, 46), 3, 0, 0)))
        self.assertEqual(len(self.branches.defaulted), 2)
        self.assertEqual(self.seen(), [])

    def test_instances_of_a_template_count_as_one(self):
        ternary = (4, 10, 4, 15)
        self.branches.add(function((ternary, 3, 0, 0)))
        self.assertEqual(self.seen(), [[True, False]])
        self.branches.add(function((ternary, 0, 2, 0)))
        self.assertEqual(self.seen(), [[True, True]])

    def test_conditions_that_share_a_place_in_a_macro_stay_apart(self):
        self.branches.add(function(IN_TRY, ((166, 9, 166, 25), 1, 0, 2)))
        self.assertEqual(self.seen(), [[False, True], [True, False]])

    def test_files_outside_the_rooms_do_not_count(self):
        self.assertEqual(MODULE.room_of("ipc/frame.cc"), "ipc")
        self.assertEqual(MODULE.room_of("webidl/operators/conv.cc"), "webidl")
        self.assertEqual(MODULE.room_of("service/session/session.cc"), "front door")
        for path in ("tests/ipc/codec_test.cc", "service/broker/broker.cc", "client/session.cc",
                     "build/coverage/ipc/messages.capnp.h", "webidl/check_switch.cc",
                     "webidl/README.md"):
            self.assertIsNone(MODULE.room_of(path), path)

    def test_lines_and_branches_below_the_goals_are_told(self):
        lcov = "SF:../../ipc/frame.cc\n" + "".join(f"DA:{n},{int(n != 4)}\n" for n in range(1, 11))
        lines = MODULE.read_lines(lcov)
        self.branches.add(function(IN_TRY, ((2, 19, 2, 27), 1, 0, 0)))
        table, rooms = MODULE.make_table(MODULE.count_files(lines, self.branches))
        self.assertIn("| frame.cc | 10 | 90.0 | 2 | 50.0 |", table)
        self.assertFalse(rooms["ipc"].reaches_goals())
        self.branches.add(function(((166, 9, 166, 25), 1, 1, 2)))
        _, rooms = MODULE.make_table(MODULE.count_files(lines, self.branches))
        self.assertTrue(rooms["ipc"].reaches_goals())
        lines["ipc/frame.cc"][5] = 0
        _, rooms = MODULE.make_table(MODULE.count_files(lines, self.branches))
        self.assertFalse(rooms["ipc"].reaches_goals())

    def test_what_did_not_run_is_listed_with_its_source(self):
        self.branches.add(function(IN_TRY, ((4, 10, 4, 15), 0, 0, 0)))
        text = MODULE.list_uncovered({"ipc/frame.cc": {1: 1, 2: 1, 3: 1, 4: 0, 5: 1}},
                                     self.branches, lambda path: SOURCE)
        # Of a line that did not run, its branches are not listed once more.
        self.assertEqual(text, "ipc/frame.cc\n  3:3 never true in a macro: TRY(G(a));\n"
                               "  4 line: return a > b ? 1 : 2;\n")

    def test_every_room_has_sources_that_clang_counts_in(self):
        with open(os.path.join(ROOT, "cmake", "coverage_files.txt"), encoding="utf-8") as text:
            listed = [line[len("src:*/"):].rstrip("*") for line in text.read().split("\n")
                      if line.startswith("src:")]
        tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True,
                                 check=True).stdout.split("\n")
        in_rooms = {room: [path for path in tracked if MODULE.room_of(path) == room]
                    for room in MODULE.ROOMS}
        for room, paths in in_rooms.items():
            self.assertNotEqual(paths, [], room)
            self.assertEqual([path for path in paths if not path.startswith(tuple(listed))], [])

    def test_an_unknown_option_is_refused(self):
        done = subprocess.run([TOOL, "--nope"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unrecognized arguments: --nope", done.stderr)


if __name__ == "__main__":
    unittest.main()
