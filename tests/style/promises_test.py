"""Every promise of service/SECURITY.md names tests that exist, or says that its test is pending."""
import os
import re
import subprocess
import sys
import unittest

ROOT = sys.argv.pop(1) if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))

PAGE = "service/SECURITY.md"
PENDING = "**[test pending]**"
GTEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
CTEST = re.compile(r"\b(?:webnnd_test\(|add_test\(\s*NAME)\s*([\w/.-]+)")
FUZZ_TEST = re.compile(r"\bwebnnd_fuzz_test\((\w+)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def promises(text):
    """The rows of the section Promises: (promise, what enforces it)."""
    section = text.split("\n## Promises\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    # The head, its rule, and headings within the table have no tests.
    return [(row[0], row[1]) for row in rows[2:]
            if len(row) == 2 and not re.fullmatch(r"\*\*[^*]+\*\*", row[0])]


def names(enforced_by):
    return re.findall(r"`([^`]+)`", enforced_by)


def known_tests(sources, lists):
    known = set()
    for text in sources:
        known.update(f"{suite}.{name}" for suite, name in GTEST.findall(text))
    for text in lists:
        known.update(CTEST.findall(text))
        known.update(f"fuzz/{name}" for name in FUZZ_TEST.findall(text))
    return known


def complaints(rows, known):
    found = []
    for promise, enforced_by in rows:
        named = names(enforced_by)
        if not named and PENDING not in enforced_by:
            found.append(f"no test is named: {promise}")
        found.extend(f"there is no such test ({name}): {promise}"
                     for name in named if name not in known)
    return found


class PromisesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "tests", "fuzz"],
                                 capture_output=True, text=True, check=True).stdout.splitlines()
        tracked = [path for path in tracked if os.path.exists(os.path.join(ROOT, path))]
        cls.known = known_tests(
            [read(path) for path in tracked if path.endswith((".cc", ".h"))],
            [read(path) for path in tracked if path.endswith("CMakeLists.txt")])
        cls.rows = promises(read(PAGE))

    def test_every_promise_names_tests_that_exist(self):
        self.assertEqual(complaints(self.rows, self.known), [])

    def test_the_table_is_found(self):
        self.assertGreater(len(self.rows), 30)
        self.assertTrue(all(promise for promise, _ in self.rows))

    def test_a_name_that_is_wrong_or_missing_is_told(self):
        rows = promises("\n## Promises\n\n| promise | enforced by |\n| --- | --- |\n"
                        "| **Group** | |\n| one | `A.B` |\n| two | `A.C`, `A.B` |\n"
                        f"| three | |\n| four | {PENDING} |\n\n## Other\n\n| five | `X.Y` |\n")
        self.assertEqual([promise for promise, _ in rows], ["one", "two", "three", "four"])
        known = known_tests(["TEST_F(A,\n       B) {"], [])
        self.assertEqual(complaints(rows, known), ["there is no such test (A.C): two",
                                                   "no test is named: three"])

    def test_tests_of_ctest_are_found(self):
        self.assertEqual(known_tests([], ["webnnd_test(a/b SOURCES x)\nadd_test(NAME c/d-e COMMAND"]),
                         {"a/b", "c/d-e"})


if __name__ == "__main__":
    unittest.main()
