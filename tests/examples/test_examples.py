"""Each example runs as it stands."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run(*command, timeout=300):
    done = subprocess.run(list(map(str, command)), cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_digits():
    output = run(sys.executable, "examples/digits.py")
    assert float(re.search(r"accuracy on 360 test images: ([0-9.]+)", output).group(1)) >= 0.96
    assert "fused by kiln:" in output
    for label in ("compile", "run"):
        assert re.search(rf"^{label} .*x$", output, re.MULTILINE)


def test_digits_fails_below_the_wanted_accuracy():
    done = subprocess.run([sys.executable, "examples/digits.py", "--epochs", "0"], cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr


def test_readme_example():
    """The first Python block of README.md prints the block of output that follows it."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    index = next(i for i, (language, _) in enumerate(blocks) if language == "python")
    assert run(sys.executable, "-c", blocks[index][1]) == blocks[index + 1][1]


def test_run_exported_program_from_cpp(tmp_path):
    program = tmp_path / "softmax.mlirbc"
    run(sys.executable, "examples/export_softmax.py", program)
    assert program.read_bytes() == (REPOSITORY / "examples" / "softmax.mlirbc").read_bytes()
    output = run("build/examples/run_exported", "build/libkiln_pjrt.so", program)
    assert output == "0.090 0.245 0.665\n0.333 0.333 0.333\n"


def test_cpp_host_reports_a_program_that_is_none():
    done = subprocess.run(
        ["build/examples/run_exported", "build/libkiln_pjrt.so", "README.md"], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stderr.strip()


def test_benchmark_runs(tmp_path):
    results = tmp_path / "results.json"
    page = tmp_path / "page.html"
    output = run(
        sys.executable, "-m", "benchmarks", "--quick", "--only", "dispatch/scalar_add|norm/softmax_wide", "--json", results, "--page", page
    )
    rows = json.loads(results.read_text())["rows"]
    assert "norm/softmax_wide" in output and page.is_file()
    assert len(rows) == 2 and not any(row["mismatch"] or row["engines"][engine]["error"] for row in rows for engine in ("kiln", "cpu"))


def test_sweep_runs(tmp_path):
    results = tmp_path / "results.json"
    output = run(sys.executable, "-m", "benchmarks.sweep", "--only", "(casts/f32_s32|unary/abs_f64)_1[0-9]*$", "--below", "1e9", "--json", results)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {row["name"] for row in rows} == {"casts/f32_s32_16384", "unary/abs_f64_1000"} and "2 listed" in output
    assert all(row["kiln"] > 0 and row["cpu"] > 0 and not row["differs"] for row in rows)


@pytest.mark.parametrize("script", [["examples/digits.py"], ["-m", "benchmarks"], ["-m", "benchmarks.sweep"], ["-m", "benchmarks.dispatch"], ["scripts/run_tests.py"]])
def test_help(script):
    assert "usage:" in run(sys.executable, *script, "--help")
