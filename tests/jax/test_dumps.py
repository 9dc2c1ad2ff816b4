"""Windows onto compilations: files that XLA_FLAGS ask for, the page for browsers, what JAX shows of an executable."""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln's own dumps")

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
KILN = REPOSITORY / "build" / "kiln"

PROGRAM = """
import jax, jax.numpy as jnp
def model(x, y):
    with jax.named_scope("layer"):
        return jax.nn.softmax(jnp.tanh(x @ y)).sum(0)
x = jnp.ones((64, 64))
print(jax.jit(model)(x, x).shape)
"""


def run(flags, program=PROGRAM, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_ENABLE_COMPILATION_CACHE": "0", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def names_of(folder, module="jit_model"):
    """The files about one module, without its number and name."""
    found = {}
    for path in folder.iterdir():
        match = re.fullmatch(rf"module_(\d{{4}})\.{module}\.(.*)", path.name)
        if match:
            found[match[2]] = path
    return found


class Page(html.parser.HTMLParser):
    """Checks that elements close as they open, and keeps scripts and the elements seen."""

    EMPTY = {"meta", "input", "br", "link", "img"}

    def __init__(self, text):
        super().__init__()
        self.stack, self.seen, self.scripts, self.title = [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.stack, self.stack

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.stack.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack)
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script":
            self.scripts[-1] += data
        if self.stack and self.stack[-1] == "title":
            self.title += data

    def data(self):
        return json.loads(self.scripts[0])


def page_of(text):
    page = Page(text)
    for tag, attributes in page.seen:
        assert "src" not in attributes, tag
        assert not attributes.get("href", "#").startswith("http"), attributes
    assert len(page.scripts) == 2
    return page


def test_files_of_a_dump(tmp_path):
    folder = tmp_path / "new" / "folder"
    run(
        f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_as_html --xla_dump_hlo_as_proto "
        "--xla_dump_hlo_as_dot --xla_dump_hlo_pass_re=fusion --xla_dump_hlo_module_re=model"
    )
    files = names_of(folder)
    assert {re.match(r"module_\d{4}\.([^.]*)", p.name)[1] for p in folder.iterdir()} == {"jit_model"}
    assert not [p for p in folder.iterdir() if ".tmp" in p.name]
    before = files["before_optimizations.txt"].read_text()
    after = files["kiln_after_optimizations.txt"].read_text()
    assert before.startswith("HloModule jit_model") and "fusion(" not in before
    assert "fusion(" in after and "is_scheduled=true" in after
    assert re.search(r'op_name="jit\(model\)/[^"]*layer', after)
    assert "allocation 0:" in files["kiln_after_optimizations-buffer-assignment.txt"].read_text()
    assert "arena" in files["kiln_after_optimizations-memory-usage-report.txt"].read_text()
    assert "define" in files["kiln.ll"].read_text() and "kiln_program" in files["kiln.s"].read_text()
    times = files["kiln.times.txt"].read_text()
    assert all(word in times for word in ["fusion", "emission of LLVM IR", "machine code", "linking", "total"])
    assert files["kiln_after_optimizations.dot"].read_text().startswith("digraph")
    steps = [name for name in files if re.fullmatch(r"\d{4}\..*\.after_.*\.before_.*\.txt", name)]
    assert any(".after_fusion." in name for name in steps), sorted(files)
    assert all("fusion" in name for name in steps)
    # XLA's own readers read both forms.
    from jax._src.lib import xla_client

    assert "jit_model" in xla_client.hlo.hlo_module_from_text(after).name
    proto = files["kiln_after_optimizations.hlo.pb"].read_bytes()
    assert "fusion(" in xla_client.XlaComputation(proto).as_hlo_text()
    page = page_of(files["kiln.html"].read_text())
    data = page.data()
    assert page.title.startswith("jit_model") and data["name"] == "jit_model"
    assert any(node[1] == "fusion" for c in data["after"]["computations"] for node in c["nodes"])
    assert {p[1] for p in data["passes"]} >= {"fusion", "dce", "algebraic-simplifier"}
    assert any(p[6] > 0 for p in data["passes"]) and [p[0] for p in data["summary"]["phases"]][0] == "HLO passes"
    functions = dict(data["code"]["functions"])
    kernels = data["code"]["operations"]
    assert kernels and all(name in functions for kernel in kernels for name in kernel["functions"])
    assert any("ret" in functions[name] for kernel in kernels for name in kernel["functions"])
    assert data["memory"]["steps"] and data["memory"]["buffers"]


def test_standard_output_and_unknown_flags():
    flags = "--xla_dump_to=- --xla_dump_hlo_module_re=^jit_model$ --xla_dump_hlo_as_txt --no_such_thing=3"
    done = run("", KILN_FLAGS=flags)
    assert re.search(r"\*\*\* Begin module_\d{4}\.jit_model\.before_optimizations\.txt \*\*\*\nHloModule", done.stdout)
    assert "*** End " in done.stdout
    assert done.stderr.count("did you mean --xla_dump_hlo_as_text?") == 1
    assert done.stderr.count("--no_such_thing has no effect on Kiln") == 1


def test_bad_folder_and_expressions_are_warnings(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("", KILN_FLAGS=f"--xla_dump_to={tmp_path}/file/folder")
    assert "(64,)" in done.stdout and done.stderr.count("--xla_dump_to=") == 1
    done = run("", KILN_FLAGS=f"--xla_dump_to={tmp_path}/dump --xla_dump_hlo_module_re=(")
    assert "regular expression '('" in done.stderr and not (tmp_path / "dump").exists()


def test_beside_xla_in_one_folder(tmp_path):
    program = PROGRAM + "x = jax.device_put(x, jax.devices('cpu')[0])\njax.jit(model)(x, x)\n"
    run(f"--xla_dump_to={tmp_path} --xla_dump_hlo_module_re=jit_model", program)
    theirs = [p for p in tmp_path.iterdir() if p.name.endswith(".cpu_after_optimizations.txt")]
    ours = [p for p in tmp_path.iterdir() if p.name.endswith(".kiln_after_optimizations.txt")]
    before = [p for p in tmp_path.iterdir() if p.name.endswith(".before_optimizations.txt")]
    assert len(theirs) == 1 and len(ours) == 1 and len(before) == 2


def test_profile_and_levels():
    flags = "--xla_hlo_profile --xla_backend_optimization_level=0 --xla_disable_hlo_passes=row-fusion,algsimp,nothing"
    done = run("", KILN_FLAGS=flags)
    assert "Execution profile for jit_model" in done.stderr
    assert re.search(r"%\s+\d+  %\S+ = f32\[64,64\]", done.stderr), done.stderr
    assert "there is no pass 'nothing' to leave out" in done.stderr and "(64,)" in done.stdout


def test_forced_device_count():
    program = "import jax; print(len(jax.devices('kiln')))"
    assert run("--xla_force_host_platform_device_count=3", program).stdout.strip() == "3"


def test_compiler_options_of_one_program(tmp_path, device):
    with jax.default_device(device):
        lowered = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(8))
        lowered.compile(compiler_options={"xla_dump_to": str(tmp_path), "xla_dump_hlo_as_proto": True})
    assert any(p.name.endswith(".kiln_after_optimizations.hlo.pb") for p in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["xla_embed_ir_in_executable", "xla_dump_hlo_as_text"])
def test_values_of_options_are_checked(name, device, reference_device):
    for each in (device, reference_device):
        with jax.default_device(each):
            lowered = jax.jit(jnp.sin).lower(1.0)
            with pytest.raises(jax.errors.JaxRuntimeError, match=f"While setting option {name}, 'x' is not a valid bool value."):
                lowered.compile(compiler_options={name: "x"})


def test_hostile_names_stay_text(tmp_path, device):
    names = ["</script><script>alert(1)</script>", "{{data}}", "a\u2028b", "&lt;", "é"]
    with jax.default_device(device):

        def f(x):
            for name in names:
                with jax.named_scope(name):
                    x = jnp.sin(x) + 1
            return x

        text = jax.jit(f).lower(jnp.ones(8)).compiler_ir("hlo").as_serialized_hlo_module_proto()
    # Names of a proto are free: make the module's and an instruction's hostile.
    hostile = text.replace(b"jit_f", b"<b>&'").replace(b"sin.", b"<i>'")
    assert hostile != text
    program = tmp_path / "hostile.pb"
    program.write_bytes(hostile)
    done = subprocess.run([KILN, "opt", program, "--html", tmp_path / "out.html"], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "out.html").read_text()
    page = page_of(content)
    assert page.data()["name"].startswith("<b>&'")
    assert "alert(1)" in json.dumps(page.data())
    assert not any(tag in ("b", "i") for tag, _ in page.seen)
    assert [tag for tag, _ in page.seen].count("script") == 2


# What JAX shows.


def compiled_model(device):
    def model(x, y):
        with jax.named_scope("layer"):
            return jax.nn.softmax(jnp.tanh(x @ y)).sum(0)

    with jax.default_device(device):
        lowered = jax.jit(model).lower(jnp.ones((64, 64)), jnp.ones((64, 64)))
        return lowered, lowered.compile()


def test_texts_and_analyses(device):
    from jax._src.lib import xla_client

    lowered, compiled = compiled_model(device)
    text = compiled.as_text()
    assert "fusion(" in text and "jit(model)/layer" in text
    assert xla_client.hlo.hlo_module_from_text(text).name == "jit_model"
    modules = compiled.runtime_executable().hlo_modules()
    assert len(modules) == 1 and "fusion(" in modules[0].to_string()
    assert lowered.as_text("hlo").startswith("HloModule") and "stablehlo.tanh" in lowered.as_text("stablehlo")
    cost = compiled.cost_analysis()
    assert cost["bytes accessed"] >= 2 * 64 * 64 * 4
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 2 * 64 * 64 * 4 and memory.output_size_in_bytes == 64 * 4


def test_metadata_survives(device):
    _, compiled = compiled_model(device)
    text = compiled.as_text()
    here = pathlib.Path(__file__).name
    assert here in text, "source lines"
    assert re.search(r'parameter\(0\),.*op_name="x"', text)
    for name in ["tanh", "dot_general"]:
        assert re.search(rf'op_name="jit\(model\)/layer/[^"]*{name}"', text), name


def test_profiler_trace(tmp_path, device):
    with jax.default_device(device), jax.profiler.trace(str(tmp_path)):
        x = jax.jit(lambda x: jnp.sin(x).sum())(jnp.ones(1000))
        np.testing.assert_allclose(x, np.sin(1) * 1000, rtol=1e-4)
    assert list(tmp_path.rglob("*.xplane.pb"))
