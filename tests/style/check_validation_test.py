"""tools/check-validation complains of numbers that are wrong, and of a table that is stale."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

ROOT = sys.argv.pop(1) if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("check_validation",
                                              os.path.join(ROOT, "tools", "check-validation"))
sys.dont_write_bytecode = True
MODULE = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(MODULE)

RULES = {21: ("section", "a rule"), 24: ("other", "another")}
USES = {21: "webidl/operators/common.cc", 24: "webidl/operators/common.cc"}
REPORT = [["21", "add", "b", "Binary.Test"], ["21", "gemm", "b", "Gemm.Test"],
          ["21", "gemm", "c", "Gemm.Test"], ["24", "softmax", "", "Softmax.Test"]]


class CheckValidationTest(unittest.TestCase):
    def test_numbers_are_found_with_and_without_an_argument(self):
        uses, complaints = MODULE.read_uses([
            ("a.cc", "INVALID_CHECK(21, x);\nINVALID_CHECK(\n   CheckOf(22, name), y);")])
        self.assertEqual(uses, {21: "a.cc", 22: "a.cc"})
        self.assertEqual(complaints, [])

    def test_a_number_that_stands_twice_is_named(self):
        _, complaints = MODULE.read_uses([("a.cc", "INVALID_CHECK(21, x);"),
                                          ("b.cc", "INVALID_CHECK(CheckOf(21, n), y);")])
        self.assertEqual(complaints, ["the check 21 stands in a.cc and in b.cc"])
        _, complaints = MODULE.read_rules("21 section a rule\n21 section another\n")
        self.assertEqual(complaints, ["webidl/checks.txt has the number 21 twice"])

    def test_a_check_without_a_number_is_named(self):
        _, complaints = MODULE.read_uses([("a.cc", "INVALID_IF(x)")])
        self.assertEqual(complaints, ["a.cc has a check without a number (INVALID_IF)"])

    def test_a_table_is_the_same_whichever_test_fails_first(self):
        table = MODULE.make_table(RULES, USES, REPORT)
        renamed = [line[:3] + ["Other.Test"] for line in REPORT]
        self.assertEqual(MODULE.without_tests(table),
                         MODULE.without_tests(MODULE.make_table(RULES, USES, renamed)))

    def test_a_table_that_lacks_a_check_or_has_an_old_rule_is_stale(self):
        table = MODULE.without_tests(MODULE.make_table(RULES, USES, REPORT))
        for left_out in range(len(REPORT)):
            fewer = REPORT[:left_out] + REPORT[left_out + 1:]
            self.assertNotEqual(table, MODULE.without_tests(MODULE.make_table(RULES, USES, fewer)))
        rules = {**RULES, 24: ("other", "a new rule")}
        self.assertNotEqual(table, MODULE.without_tests(MODULE.make_table(rules, USES, REPORT)))


if __name__ == "__main__":
    unittest.main()
