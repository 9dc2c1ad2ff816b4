"""The table on the terminal, and the page with plots."""

import dataclasses
import html
import json
import math


def duration(seconds):
    if math.isnan(seconds):
        return "-"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"


def size(count):
    if count < 0:
        return "-"
    return f"{count / 2**20:.1f} MB" if count >= 1 << 20 else f"{count / 2**10:.0f} kB"


def times(ratio):
    return "-" if math.isnan(ratio) else f"{ratio:.2f}x"


def geometric_mean(values):
    values = [value for value in values if value > 0 and math.isfinite(value)]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


HEADER = f"{'program':38}{'kiln':>9}{'XLA:CPU':>9}{'faster':>9}{'+-':>5}   {'compile':>9}{'XLA:CPU':>9}{'faster':>9}   {'memory':>9}{'XLA:CPU':>9}"


def line(row):
    """One program as a line of the table."""
    kiln, cpu = row.engines.get("kiln"), row.engines.get("cpu")
    if kiln is None or kiln.error:
        return f"{row.name:38}   kiln failed: {kiln.error if kiln else 'not measured'}"
    text = f"{row.name:38}{duration(kiln.run):>9}"
    if cpu is None or cpu.error:
        text += f"{'-':>9}{'-':>9}{kiln.spread:5.0%}   {duration(kiln.compile):>9}" + (f"   XLA:CPU failed: {cpu.error}" if cpu else "")
    else:
        text += f"{duration(cpu.run):>9}{times(row.ratio('run')):>9}{max(kiln.spread, cpu.spread):5.0%}   "
        text += f"{duration(kiln.compile):>9}{duration(cpu.compile):>9}{times(row.ratio('compile')):>9}   {size(kiln.memory):>9}{size(cpu.memory):>9}"
    for engine, figures in row.engines.items():
        if engine not in ("kiln", "cpu"):
            text += f"   {engine} " + (figures.error[:60] or f"{duration(figures.run)} ({times(row.ratio('run', reference=engine))})")
    return text + (f"   RESULTS DIFFER: {row.mismatch}" if row.mismatch else "")


def summary(rows):
    """Geometric means per group, the rows that are behind, and those that failed."""
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    lines = [f"{'group':18}{'programs':>9}{'faster':>9}{'compile':>9}{'memory':>9}{'ahead':>8}"]
    for name, members in [*groups.items(), ("all", rows)]:
        ratios = [row.ratio("run") for row in members]
        known = [ratio for ratio in ratios if not math.isnan(ratio)]
        ahead = sum(ratio >= 1 for ratio in known)
        means = [geometric_mean([row.ratio(field) for row in members]) for field in ("run", "compile", "memory")]
        lines.append(f"{name:18}{len(members):9}" + "".join(f"{times(mean):>9}" for mean in means) + f"{ahead:4}/{len(known)}")
    behind = sorted((row for row in rows if row.ratio("run") < 0.9), key=lambda row: row.ratio("run"))
    if behind:
        lines += ["", f"behind XLA:CPU (under 0.90x): {len(behind)}"] + [f"  {times(row.ratio('run')):>7}  {row.name}" for row in behind]
    for peer in sorted({engine for row in rows for engine in row.engines} - {"kiln", "cpu"}):
        known = sorted((ratio, row.name) for row in rows if not math.isnan(ratio := row.ratio("run", reference=peer)))
        ahead = sum(ratio >= 1 for ratio, _ in known)
        lines += ["", f"beside {peer}: {times(geometric_mean([ratio for ratio, _ in known]))}, ahead in {ahead} of {len(known)}; behind:"]
        lines += [f"  {times(ratio):>7}  {name}" for ratio, name in known if ratio < 0.95]
    failed = [row for row in rows if row.mismatch or any(figures.error for engine, figures in row.engines.items() if engine == "kiln")]
    if failed:
        lines += ["", "failed:"] + [f"  {row.name}: {row.mismatch or row.engines['kiln'].error}" for row in failed]
    return "\n".join(lines)


def write_json(path, rows, machine):
    record = {"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}
    path.write_text(json.dumps(record, indent=1) + "\n")


_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; color: #222; background: #fff; }
h2 { margin-top: 2em; } td, th { padding: .15em .8em; text-align: right; } td:first-child, th:first-child { text-align: left; }
tr:nth-child(even) { background: #f4f4f4; } .bad { color: #b22; } svg text { font: 11px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } tr:nth-child(even) { background: #222; } svg text { fill: #ddd; } }
"""


def _bars(rows, field, low=1 / 8, high=64):
    """A bar per program on a logarithmic scale; to the right of the middle line Kiln is better."""
    left, width, height = 300, 760, 15
    span = math.log(high / low)

    def x(ratio):
        return left + width * math.log(min(max(ratio, low), high) / low) / span

    parts, tick = [], low
    while tick <= high:
        label = f"{tick:g}x" if tick >= 1 else f"1/{1 / tick:g}"
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="14" y2="{18 + height * len(rows)}" stroke="#8884"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="10" text-anchor="middle">{label}</text>')
        tick *= 2
    for index, row in enumerate(sorted(rows, key=lambda row: -row.ratio(field))):
        ratio, y = row.ratio(field), 18 + index * height
        begin, end = sorted((x(1), x(ratio)))
        color = "#2a7" if ratio >= 1 else "#c33"
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{html.escape(row.name)}</text>')
        bar = f'<rect x="{begin:.1f}" y="{y + 2}" width="{max(end - begin, 1):.1f}" height="{height - 4}" fill="{color}">'
        parts.append(f"{bar}<title>{html.escape(row.name)}: {times(ratio)}</title></rect>")
    return f'<svg width="{left + width + 20}" height="{24 + height * len(rows)}" role="img">{"".join(parts)}</svg>'


_CHART_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #222; } .title { font-weight: bold; font-size: 14px; } .axis { stroke: #8886; } .one { stroke: #888; }
.run { fill: #2a7; } .compile { fill: #48c; } .memory { fill: #a86; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } }
"""


def write_chart(path, rows, machine):
    """A picture of one screen, for documents: three bars per group on a logarithmic scale, how many times less Kiln needs."""
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    fields = {"run": "run time", "compile": "compile time", "memory": "memory of the first run"}
    left, width, step, bar, top, low, high = 110, 560, 21, 6, 66, 1 / 2, 64

    def x(ratio):
        return left + width * math.log(min(max(ratio, low), high) / low) / math.log(high / low)

    bottom = top + step * (len(groups) + 1)
    parts = [f'<text class="title" x="{left}" y="18">How many times less Kiln needs than XLA:CPU, geometric means</text>']
    parts.append(f'<text x="{left}" y="36">{len(rows)} JAX programs on {html.escape(machine["processor"])}, {machine["processors"]} processors</text>')
    for index, (field, title) in enumerate(fields.items()):
        title = f"{title}: {geometric_mean([row.ratio(field) for row in rows]):.1f}x"
        parts.append(f'<rect class="{field}" x="{left + 170 * index}" y="45" width="10" height="10"/><text x="{left + 14 + 170 * index}" y="54">{title}</text>')
    for power in range(round(math.log2(low)), round(math.log2(high)) + 1):
        at = x(2.0**power)
        parts.append(f'<line class="{"axis" if power else "one"}" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 14}" text-anchor="middle">{2.0**power:g}x</text>')
    for index, (name, members) in enumerate([("all", rows), *sorted(groups.items())]):
        y = top + step * index
        parts.append(f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        for place, field in enumerate(fields):
            mean = geometric_mean([row.ratio(field) for row in members])
            if math.isnan(mean):
                continue
            begin, end = sorted((x(1), x(mean)))
            parts.append(f'<rect class="{field}" x="{begin:.1f}" y="{y + 1 + bar * place}" width="{max(end - begin, 1):.1f}" height="{bar - 1}"><title>{html.escape(name)}, {fields[field]}: {times(mean)}</title></rect>')
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {bottom + 22}" role="img"><style>{_CHART_STYLE}</style>{"".join(parts)}</svg>\n')


def write_page(path, rows, machine):
    """A page that needs nothing else: the means, then speed, compile time and memory as bars."""
    cells = [text.split() for text in summary(rows).split("\n\n")[0].splitlines()]
    # Names of groups may hold a space; figures are the last five cells.
    table = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in [" ".join(r[:-5]), *r[-5:]]) + "</tr>" for r in cells)
    limits = ", ".join(f"{name} {value:g} {unit}" for name, (value, unit) in machine["limits"].items())
    sections = []
    for field, title in (("run", "Run time"), ("compile", "Compile time"), ("memory", "Memory of the first run")):
        known = [row for row in rows if not math.isnan(row.ratio(field))]
        sections.append(f"<h2>{title}: XLA:CPU's over Kiln's</h2><p>Green: Kiln needs less. Logarithmic.</p>{_bars(known, field)}")
    path.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Kiln beside XLA:CPU</title><style>{_STYLE}</style>'
        f"<h1>Kiln beside XLA:CPU</h1><p>{html.escape(machine['processor'])}, {machine['processors']} processors, JAX {machine['jax']}. Limits: {html.escape(limits)}.</p>"
        f"<table>{table}</table>{''.join(sections)}</html>\n"
    )
