"""Checks what tools/fuzz says, without fuzzing."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "fuzz")


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("fuzz_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_tool", loader))
    loader.exec_module(module)
    return module


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False)


class FuzzToolTest(unittest.TestCase):
    def test_an_unknown_name_is_refused_with_those_that_there_are(self):
        done = run("nope")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no fuzzer (nope), but canary, decode", done.stderr)

    def test_no_time_is_refused(self):
        done = run("decode", "--minutes", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the minutes (0.0) are not above 0", done.stderr)

    def test_every_fuzzer_has_a_corpus(self):
        for name in load().fuzzer_names():
            self.assertTrue(os.listdir(os.path.join(ROOT, "fuzz", "corpus", name)), name)

    def progress(self, *lines):
        progress = load().Progress()
        for seconds, line in lines:
            progress.take(line, seconds)
        return progress.report(100)

    def test_growth_in_the_last_fifth_is_told(self):
        start = (1, "#10\tINITED cov: 100 ft: 200 corp: 3/30b exec/s: 0 rss: 40Mb\n")
        early = (50, "#90\tNEW    cov: 120 ft: 260 corp: 4/33b exec/s: 9 rss: 40Mb L: 3/9\n")
        late = (95, "#99\tREDUCE cov: 123 ft: 263 corp: 5/35b exec/s: 9 rss: 40Mb L: 3/9\n")
        count = (100, "stat::number_of_executed_units: 400\n")
        grown = self.progress(start, early, late, count)
        self.assertIn("400 executions (4 a second); edges 100 at the start, 123 at the end", grown)
        self.assertIn("yes, by 3 edges", grown)
        self.assertIn("grew in the last fifth: no", self.progress(start, early, count))

    def test_a_crash_among_the_seeds_is_no_figure(self):
        self.assertIn("before all of the corpus was read", self.progress((1, "==1==ERROR\n")))

    # A fuzzer that finds something `findings` times, in runs of 10 executions each.
    def runs(self, findings):
        with tempfile.TemporaryDirectory() as folder:
            script = f"""
                echo '#1 INITED cov: 100 ft: 200 corp: 3/30b exec/s: 0 rss: 40Mb'
                echo stat::number_of_executed_units: 10
                echo > {folder}/$$; [ $(ls {folder} | wc -l) -gt {findings} ]"""
            with contextlib.redirect_stderr(io.StringIO()):
                return load().run_fuzzer(["sh", "-c", script], 100, os.environ)

    def test_a_finding_does_not_end_it(self):
        found, figures = self.runs(findings=2)
        self.assertEqual(found, 2)
        self.assertIn("30 executions", figures)
        self.assertIn("found something 2 times", figures)
        found, figures = self.runs(findings=0)
        self.assertEqual(found, 0)
        self.assertNotIn("found", figures)

    def test_what_finds_something_at_once_is_not_run_for_ever(self):
        self.assertEqual(self.runs(findings=1000)[0], load().FINDINGS_MAX)


if __name__ == "__main__":
    unittest.main()
