"""torch as it comes, op by op."""

NEEDS = ["torch"]


def names():
    from .torch_programs import PROGRAMS

    return PROGRAMS


def build(program):
    from .torch_programs import prepared

    return *prepared(program), []
