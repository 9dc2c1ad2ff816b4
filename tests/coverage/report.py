"""What passes, as docs/coverage.md."""

import re

from .exceptions import EXCEPTIONS
from .functions import DTYPES, NAMESPACES, not_swept, public

SHORT = dict(zip(DTYPES, "f32 c64 s32 bf16 pred u8 f64 s8 f16 c128 u32 s64 s16 u16 u64".split(), strict=True))


def excused(label, dtype, check):
    """The reason why a check may fail, or None."""
    return next((reason for pattern, reason in EXCEPTIONS if re.search(pattern, f"{label} {dtype} [{check}]")), None)


def slow(results):
    """Functions whose program compiles or runs more than twice as long as on XLA:CPU, worst first."""
    lines = []
    for what, floor in (("compile_seconds", 0.02), ("run_seconds", 0.0002)):
        rows = [(r[what][0] / r[what][1], r) for r in results if r[what] and r[what][0] > max(floor, 2 * r[what][1])]
        rows.sort(key=lambda row: -row[0])
        lines += [f"{what}: {ratio:.1f} x, {r[what][0] * 1e3:.1f} ms, {r['label']} {r['dtype']}" for ratio, r in rows[:60]]
    return "\n".join(lines)


def document(functions, results):
    lines, used, missing, totals = [], {}, [], [0, 0, 0, 0]
    for namespace in NAMESPACES:
        rows = []
        for function in [f for f in functions if f.namespace == namespace]:
            taken = passed = checks = 0
            failed = []
            for dtype in function.dtypes:
                outcome = results.get((function.label, dtype))
                if outcome is None or not (outcome["passed"] or outcome["failed"]):
                    continue
                taken += 1
                checks += len(outcome["passed"]) + len(outcome["failed"])
                open_failures = [c for c in outcome["failed"] if not excused(function.label, dtype, c)]
                for check in outcome["failed"]:
                    if reason := excused(function.label, dtype, check):
                        used.setdefault(reason, []).append(f"{function.label} {SHORT[dtype]} [{check}]")
                passed += not open_failures
                if open_failures:
                    failed.append(SHORT[dtype])
            if not taken:
                missing.append(function.label)
                continue
            rows.append(f"| {function.name} | {passed}/{taken} | {checks} | {' '.join(failed)} |")
            for n, value in enumerate((1, passed == taken, taken, passed)):
                totals[n] += value
        if rows:
            lines += ["", f"## {namespace}", "| function | dtypes | checks | fails for |", "|---|---|---|---|", *rows]
    absent = sum((f.label, dtype) not in results for f in functions for dtype in f.dtypes)
    head = [
        "# What of JAX runs on Kiln",
        "",
        "Made by `make coverage`; do not edit. Every public function of these namespaces runs on Kiln and on XLA:CPU in one",
        "process, with arguments made from its signature: several shapes, every dtype that JAX and XLA:CPU accept, jitted and op by op,",
        "its gradient and its batch under `vmap` (of integers, in s32 alone). Results must agree within the tolerances of `tests/jax/harness.py`, those",
        "of narrower types where a function computes in one; where the problem is so conditioned that they cannot, Kiln must be as",
        "close to the truth as XLA:CPU is. A dtype passes when all its checks do.",
        "",
        *([f"{absent} pairs of function and dtype have not been run yet.", ""] if absent else []),
        f"**{totals[1]} of {totals[0]} functions pass, {totals[3]} of {totals[2]} pairs of function and dtype"
        f" ({100 * totals[3] / max(totals[2], 1):.2f} %).**",
    ]
    tail = ["", "## Exceptions", ""]
    tail += [f"- {reason}: {', '.join(f'`{c}`' for c in sorted(checks))}" for reason, checks in used.items()] or ["None."]
    tail += ["", "## Not swept", ""]
    for namespace in NAMESPACES:
        reasons = {}
        names = {f.name for f in public(namespace)}
        for name, reason in not_swept(namespace).items():
            if name in names:
                reasons.setdefault(reason, []).append(name)
        tail += [f"- `{namespace}`, {reason}: {', '.join(names)}" for reason, names in reasons.items()]
    tail += [f"- `{label}`: no result" for label in missing]
    return "\n".join(head + lines + tail) + "\n"
