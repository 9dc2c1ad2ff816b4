"""Sweeps every public function of JAX on Kiln against XLA:CPU and writes docs/coverage.md.

Each function and dtype runs in a worker process; one that crashes or hangs costs that case and no other. Results are kept in
build/coverage.jsonl, so that `--only REGEX` runs a part again and the document is still of all.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import threading
import warnings

os.environ.setdefault("JAX_PLATFORMS", "kiln,cpu")
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"
if "--slow" not in sys.argv:  # most of the time goes into XLA:CPU's compiler
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
warnings.filterwarnings("ignore")

import tqdm  # noqa: E402

from . import REPOSITORY, report  # noqa: E402
from .functions import DTYPES, swept  # noqa: E402
from .worker import Worker  # noqa: E402

RESULTS = REPOSITORY / "build" / "coverage.jsonl"


def read_results():
    """The newest outcome of each (label, dtype)."""
    results = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            outcome = json.loads(line)
            results[outcome["label"], outcome["dtype"]] = outcome
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="functions with dtype, such as 'jax.lax.sort float32'")
    parser.add_argument("--resume", action="store_true", help="leave out what has passed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--slow", action="store_true", help="list what compiles or runs more than twice as long as on XLA:CPU")
    options = parser.parse_args()

    functions = swept()
    known = {(f.label, dtype) for f in functions for dtype in f.dtypes}
    results = {pair: outcome for pair, outcome in read_results().items() if pair in known}
    tasks = [
        (f.label, dtype)
        for dtype in DTYPES
        for f in functions
        if dtype in f.dtypes and re.search(options.only, f"{f.label} {dtype}")
        and not (options.resume and not results.get((f.label, dtype), {"failed": True})["failed"])
    ]
    RESULTS.parent.mkdir(exist_ok=True)
    local, lock, workers, failures = threading.local(), threading.Lock(), [], 0

    def work(task):
        if not hasattr(local, "worker"):
            local.worker = Worker()
            workers.append(local.worker)
        return local.worker.run(*task)

    with RESULTS.open("a") as file, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        progress = tqdm.tqdm(total=len(tasks), unit="case", smoothing=0.02)
        for future in concurrent.futures.as_completed(pool.submit(work, task) for task in tasks):
            outcome = future.result()
            with lock:
                file.write(json.dumps(outcome) + "\n")
                file.flush()
            results[outcome["label"], outcome["dtype"]] = outcome
            for name, problem in outcome["failed"].items():
                if not report.excused(outcome["label"], outcome["dtype"], name):
                    failures += 1
                    progress.write(f"FAILED {outcome['label']} {outcome['dtype']} [{name}] {problem[:300]}")
            progress.update()
        progress.close()
    for worker in workers:
        worker.stop()
    if options.slow:
        print(report.slow(results.values()))
    path = REPOSITORY / "docs" / "coverage.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(report.document(functions, results))
    print(f"{len(tasks)} cases run, {failures} checks failed; wrote {path.relative_to(REPOSITORY)}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
