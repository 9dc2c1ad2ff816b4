"""Runs every test that was built and ends with the line `N passed, N failed`.

Suites: ctest (one gtest program per part), golden (lit and FileCheck on the `kiln` command, with the machine's vectors and
again with those of 32 bytes), pytest (JAX on Kiln against XLA:CPU, structure of the source). Each writes a JUnit report
into build/reports, from which the counts are taken. A suite that ends badly without saying which test failed, or that ran
no test, counts as one failure.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
REPORTS = REPOSITORY / "build" / "reports"


@dataclasses.dataclass(frozen=True, eq=False)
class Suite:
    name: str
    command: list  # without the option that names the report
    report_option: str

    @property
    def report(self):
        return REPORTS / f"{self.name}.xml"


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)
    skipped: int = 0


def widest_vectors_are_avx2():
    """Whether the golden tests would only run twice with the same vectors."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    return "avx2" in flags and not flags & {"avx512f", "avx_vnni"}


def suites(python):
    pytest = [python, "-m", "pytest", "-q", "--durations=5"]
    lit = [python, "-c", "from lit.main import main; main()", "-v", "-j2", "tests/golden"]
    return [
        Suite("structure", [*pytest, "tests/structure"], "--junitxml"),
        Suite("ctest", ["ctest", "--preset", "release", "-j2", "--progress"], "--output-junit"),
        Suite("golden", lit, "--xunit-xml-output"),
        # What texts say of vectors of 64 bytes has to hold of narrower ones too, whatever the machine has.
        Suite("golden_avx2", [*lit, "--param", "isa=AVX2"], "--xunit-xml-output"),
        # Two workers: a crash of one fails the test that it ran, and the rest goes on in a new one.
        Suite("jax", [*pytest, "-n2", "--max-worker-restart=1000", "tests/jax"], "--junitxml"),
        Suite("examples", [*pytest, "tests/examples"], "--junitxml"),
    ]


def read_report(path):
    outcome = Outcome()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = "/".join(part for part in (case.get("classname"), case.get("name")) if part)
        # ctest writes status="fail" and status="notrun"; the others write children.
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            outcome.failed.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return outcome


def run(suite):
    suite.report.unlink(missing_ok=True)
    print(f"\n== {suite.name}", flush=True)
    # Kernels that an earlier run has left in files would hide what compiling them does now.
    environment = {**os.environ, "KILN_KERNEL_CACHE": "memory"}
    command = [*suite.command, suite.report_option, str(suite.report)]
    code = subprocess.run(command, cwd=REPOSITORY, env=environment).returncode
    try:
        outcome = read_report(suite.report)
    except (OSError, xml.etree.ElementTree.ParseError):
        outcome = Outcome()
    if not outcome.passed and not outcome.failed:
        outcome.failed.append(f"{suite.name}: no test gave a result (exit code {code})")
    elif code != 0 and not outcome.failed:
        outcome.failed.append(f"{suite.name}: exit code {code} though no test failed")
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="SUITES", help="suites to run, separated by commas")
    options = parser.parse_args()
    chosen = suites(sys.executable)
    if options.only:
        wanted = options.only.split(",")
        if unknown := set(wanted) - {suite.name for suite in chosen}:
            parser.error(f"no suite is called {', '.join(sorted(unknown))}")
        chosen = [suite for suite in chosen if suite.name in wanted]
    elif widest_vectors_are_avx2():
        chosen = [suite for suite in chosen if suite.name != "golden_avx2"]

    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for suite in chosen:
        start = time.monotonic()
        outcomes[suite] = run(suite), time.monotonic() - start

    print("\n== summary")
    for suite, (outcome, seconds) in outcomes.items():
        print(f"{suite.name:11} {outcome.passed:5} passed {len(outcome.failed):4} failed {outcome.skipped:4} skipped {seconds:7.1f} s")
    failures = [name for outcome, _ in outcomes.values() for name in outcome.failed]
    for name in failures[:50]:
        print(f"FAILED {name}")
    if len(failures) > 50:
        print(f"... and {len(failures) - 50} more")
    print(f"{sum(outcome.passed for outcome, _ in outcomes.values())} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
