"""Checks rules of the tree (DESIGN section 2): the depends-on order, who may include what, READMEs."""
import os
import re
import subprocess
import sys
import unittest

ROOT = sys.argv.pop(1) if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))

# What each room may include. A room may always include itself.
MAY_INCLUDE = {
    "base": set(),
    "webidl": {"base"},
    "ipc": {"base", "webidl"},
    "shaders": set(),
    "client": {"base", "webidl", "ipc"},
    "service/plan": {"base", "shaders"},
    "service/graph": {"base", "webidl", "ipc"},
    "service/passes": {"base", "webidl", "shaders", "service/graph", "service/plan"},
    "service/vulkan": {"base", "ipc", "shaders", "service/plan"},
    "service/session": {"base", "webidl", "ipc", "service/graph", "service/passes", "service/plan",
                        "service/vulkan"},
    "service/sandbox": {"base"},
    "service/worker": {"base", "service/sandbox"},
    "service/broker": {"base", "service/sandbox", "service/worker"},
    # main wires everything explicitly.
    "service": {"base", "ipc", "service/broker", "service/sandbox", "service/session",
                "service/vulkan", "service/worker"},
    # Examples use the client's public interface; main of generate hands it an in-process service.
    "examples": {"base", "webidl", "client", "service/session", "service/vulkan"},
}
CAPNP_MAY_BE_INCLUDED_BY = re.compile(r"^(ipc/(codec|[a-z_]*codec[a-z_]*)\.(cc|h)|ipc/generated/.*)$")


def tracked_files():
    out = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    return out.stdout.split("\n")[:-1]


def room_of(path):
    parts = path.split("/")
    if parts[0] == "service" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def includes(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as source:
        return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', source.read(), re.MULTILINE)


def sources(files):
    return [f for f in files if re.search(r"\.(cc|h|inc)$", f)]


class TreeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = [f for f in tracked_files() if os.path.exists(os.path.join(ROOT, f))]

    def test_rooms_include_only_what_lies_below_them(self):
        wrong = []
        for path in sources(self.files):
            room = room_of(path)
            if room not in MAY_INCLUDE:
                continue
            for quote, included in includes(path):
                target = room_of(included)
                if quote != '"' or target == room or target not in MAY_INCLUDE:
                    continue
                if target not in MAY_INCLUDE[room]:
                    wrong.append(f"{path} includes {included}")
        self.assertEqual(wrong, [])

    def test_only_the_codec_includes_capnproto(self):
        wrong = [f"{path} includes {included}" for path in sources(self.files)
                 for _, included in includes(path)
                 if (included.startswith(("capnp/", "kj/")) or included.endswith(".capnp.h"))
                 and not CAPNP_MAY_BE_INCLUDED_BY.match(path)
                 and not path.startswith(("tests/ipc/", "fuzz/"))]
        self.assertEqual(wrong, [])

    def test_only_service_vulkan_includes_vulkan(self):
        wrong = [f"{path} includes {included}" for path in sources(self.files)
                 for _, included in includes(path)
                 if included.startswith("vulkan/") and not path.startswith(
                     ("service/vulkan/", "tests/service/vulkan", "tools/benchmarks/"))]
        self.assertEqual(wrong, [])

    def test_client_never_includes_the_service(self):
        wrong = [f"{path} includes {included}" for path in sources(self.files)
                 for _, included in includes(path)
                 if path.startswith("client/") and included.startswith("service/")]
        self.assertEqual(wrong, [])

    def test_every_folder_of_sources_has_a_readme(self):
        folders = {os.path.dirname(f) for f in sources(self.files)} - {""}
        missing = [folder for folder in sorted(folders)
                   if "generated" not in folder and not folder.startswith("tests/")
                   and not os.path.exists(os.path.join(ROOT, folder, "README.md"))]
        self.assertEqual(missing, [])

    def test_no_path_of_a_machine_stands_in_a_file(self):
        machine_path = re.compile(r"(?<![A-Za-z0-9_.])/(work|root|home/[a-z]+)/")
        wrong = []
        for path in self.files:
            if re.search(r"\.(cc|h|mjs|py|md|txt|json|cmake|comp|glsl)$", path) is None:
                continue
            with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as text:
                if machine_path.search(text.read()):
                    wrong.append(path)
        self.assertEqual(wrong, [])

    def test_the_rules_can_fail(self):
        self.assertNotIn("service/session", MAY_INCLUDE["client"])
        self.assertIsNone(CAPNP_MAY_BE_INCLUDED_BY.match("client/connection.cc"))


if __name__ == "__main__":
    unittest.main()
