"""Puts the built plugin library into the wheel, and gives the wheel the tag of the platform it was built on."""

import os
import pathlib
import platform
import re
import shutil

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def project_version():
    text = (REPOSITORY / "CMakeLists.txt").read_text()
    return re.search(r"project\(kiln VERSION ([0-9.]+)", text).group(1)


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = pathlib.Path(os.environ.get("KILN_LIBRARY_PATH", REPOSITORY / "build" / "libkiln_pjrt.so"))
        if not library.is_file():
            raise FileNotFoundError(f"{library} is not there; `make build` builds it")
        package = pathlib.Path(self.build_lib) / "jax_plugins" / "kiln"
        shutil.copy2(library, package / "libkiln_pjrt.so")


class PlatformWheel(bdist_wheel):
    """Any Python 3, this machine's architecture, and a C library at least as new as the one the library was linked with."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        name, version = platform.libc_ver()
        machine = platform.machine()
        if name != "glibc":
            return "py3", "none", f"linux_{machine}"
        major, minor = version.split(".")[:2]
        return "py3", "none", f"manylinux_{major}_{minor}_{machine}"


setuptools.setup(
    version=project_version(),
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
    has_ext_modules=lambda: True,
)
