# Golden text tests: text in, text out. A test is a file with `// RUN:` lines, checked by LLVM's FileCheck:
#
#   // RUN: kiln opt %s --passes=dce | FileCheck %s
#   // CHECK-LABEL: ENTRY
#   // CHECK-NOT: add(
import os

import lit.formats

repository = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
llvm = "/usr/lib/llvm-19/bin"

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".hlo", ".mlir", ".kernel", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(repository, "build", "golden")
# The texts are those of one row of the tuning table, whatever the machine; `--param isa=AVX2` asks for narrower vectors.
config.environment["KILN_FLAGS"] = "--kiln_tuning=avx512"
if isa := lit_config.params.get("isa"):
    config.environment["KILN_FLAGS"] += f" --xla_cpu_max_isa={isa}"


def tool(name, command):
    """Replaces the word `name` in RUN lines, and not the same word inside a path or an option."""
    config.substitutions.append((rf"(?<![\w./\-]){name}(?![\w./\-])", command))


tool("kiln", os.path.join(repository, "build", "kiln"))
tool("FileCheck", os.path.join(llvm, "FileCheck") + " --dump-input-context=20")
tool("not", os.path.join(llvm, "not"))
tool("split-file", os.path.join(llvm, "split-file"))
tool("count", os.path.join(llvm, "count"))
