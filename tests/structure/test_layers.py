"""Directories are layers: what a file may include, and how the repository is laid out."""

import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# From the bottom up. A room may include itself and the rooms before it.
ROOMS = ["base", "hlo", "analysis", "passes", "kernel", "cpu", "gpu", "frontend", "runtime", "inspect", "tools"]
# Rooms on one level know nothing of each other.
APART = {("cpu", "gpu"), ("gpu", "cpu")}
# Inside frontend: readers make an op tree or a module, and stablehlo turns the op tree into a module. The lexer of HLO
# text serves MLIR text, and its replica groups those of protos.
FRONTEND_PARTS = {
    "hlo_text": set(),
    "hlo_proto": {"hlo_text"},
    "mlir": {"hlo_text"},
    "stablehlo": {"mlir"},
    "shardy": {"mlir", "stablehlo"},
}
MOST_LINES = 800
# Headers that a C host may copy away; they include each other by relative paths.
STANDALONE_HEADERS = re.compile(r"c_api/(pjrt_c_api\.h|kiln\.h|pjrt/.*)")
TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "Makefile", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "ROADMAP.md",
    "LICENSE", "requirements.txt", "cmake", "include", "src", "plugin", "c_api", "examples", "tests", "benchmarks", "docs",
    "scripts",
}  # fmt: skip

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file()]


def code_files():
    return [name for name in tracked_files() if name.startswith(("src/", "c_api/", "include/")) and name.endswith((".h", ".cc", ".c"))]


def may_include(source, target):
    """Whether the repository's file `source` may include the repository's file `target`."""
    source_parts, target_parts = pathlib.PurePath(source).parts, pathlib.PurePath(target).parts
    if target_parts[0] == "kiln":  # include/kiln, the public API, has Abseil and the standard library below it alone
        return True
    if source_parts[0] == "include":
        return False
    if target_parts[0] == "c_api":
        return source_parts[0] == "c_api" or source_parts[:2] == ("src", "tools")
    if target_parts[0] != "src":
        return False
    room = target_parts[1]
    if source_parts[0] == "c_api":
        return room in ROOMS
    own = source_parts[1]
    if own != room:
        return ROOMS.index(room) < ROOMS.index(own) and (own, room) not in APART
    if room == "frontend" and len(source_parts) > 3:
        part, other = source_parts[2], target_parts[2]
        return len(target_parts) > 3 and (part == other or other in FRONTEND_PARTS[part])
    return True


def own_includes(name):
    for target in INCLUDE.findall((REPOSITORY / name).read_text()):
        if target.startswith(("src/", "c_api/", "kiln/", "tests/")):
            yield target


def test_includes_go_down():
    wrong = [f"{name} includes {target}" for name in code_files() for target in own_includes(name) if not may_include(name, target)]
    assert not wrong, "\n".join(wrong)


def test_includes_are_from_the_root():
    wrong = []
    for name in code_files():
        if STANDALONE_HEADERS.fullmatch(name):
            continue
        for target in re.findall(r'#\s*include\s*"([^"]+)"', (REPOSITORY / name).read_text()):
            beside = (REPOSITORY / name).parent / target
            if not target.startswith(("src/", "c_api/", "kiln/")) and beside.is_file():
                wrong.append(f"{name} includes {target} by a path from its own directory")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "source, target, allowed",
    [
        ("src/hlo/module.cc", "src/base/status.h", True),
        ("src/base/status.cc", "src/hlo/module.h", False),
        ("src/cpu/compiler.cc", "src/gpu/device.h", False),
        ("src/gpu/device.cc", "src/cpu/compiler.h", False),
        ("src/kernel/loop.cc", "src/cpu/compiler.h", False),
        ("src/runtime/client.cc", "src/cpu/executable.h", True),
        ("src/frontend/stablehlo/convert.cc", "src/frontend/mlir/operation.h", True),
        ("src/frontend/mlir/reader.cc", "src/frontend/stablehlo/convert.h", False),
        ("src/frontend/hlo_text/parser.cc", "src/frontend/mlir/reader.h", False),
        ("src/frontend/frontend.cc", "src/frontend/mlir/reader.h", True),
        ("src/runtime/client.cc", "c_api/kiln.h", False),
        ("c_api/client.cc", "src/runtime/client.h", True),
        ("include/kiln/client.h", "src/runtime/client.h", False),
        ("src/runtime/client.cc", "kiln/client.h", True),
    ],
)
def test_rule_of_includes(source, target, allowed):
    assert may_include(source, target) == allowed


def test_every_room_is_known():
    rooms = {name.split("/")[1] for name in tracked_files() if name.startswith("src/") and name.count("/") > 1}
    assert rooms <= set(ROOMS)
    parts = {name.split("/")[2] for name in tracked_files() if name.startswith("src/frontend/") and name.count("/") > 2}
    assert parts <= set(FRONTEND_PARTS)


def test_files_are_short():
    directories = ("src/", "c_api/", "include/", "tests/", "plugin/", "examples/", "benchmarks/", "scripts/")
    endings = (".h", ".cc", ".c", ".py", ".sh")
    long = {
        name: lines
        for name in tracked_files()
        if name.startswith(directories) and name.endswith(endings)
        and (lines := len((REPOSITORY / name).read_text().splitlines())) > MOST_LINES
    }  # fmt: skip
    assert not long


def test_top_level_is_what_the_readme_says():
    found = {name.split("/")[0] for name in tracked_files()}
    unknown = {name for name in found if not name.startswith(".")} - TOP_LEVEL
    assert not unknown


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CONTRIBUTING.md", "Makefile", ".ci/run", ".clang-format", ".clang-tidy"])
def test_file_is_there(name):
    assert (REPOSITORY / name).stat().st_size > 0


def test_ci_calls_make_test():
    commands = [line.strip() for line in (REPOSITORY / ".ci" / "run").read_text().splitlines() if "make" in line]
    assert commands == ["make test"]


def test_every_test_program_is_run():
    """A test file that no CMakeLists.txt names would never run."""
    forgotten = []
    for name in tracked_files():
        path = pathlib.PurePath(name)
        if path.parts[0] == "tests" and path.name.endswith("_test.cc"):
            lists = REPOSITORY / path.parent / "CMakeLists.txt"
            text = lists.read_text() if lists.is_file() else ""
            if path.stem not in text and "GLOB" not in text:
                forgotten.append(name)
    assert not forgotten
