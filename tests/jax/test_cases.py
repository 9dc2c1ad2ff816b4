"""Every case of every table, on the device under test against the reference."""

import cases_butterflies
import cases_control_flow
import cases_elementwise
import cases_indexing
import cases_linear
import cases_neural
import cases_programs
import cases_random
import cases_reductions
import cases_row_chains
import cases_transforms
import cases_types
import pytest
from harness import check

TABLES = [
    cases_elementwise,
    cases_types,
    cases_reductions,
    cases_row_chains,
    cases_butterflies,
    cases_linear,
    cases_indexing,
    cases_control_flow,
    cases_transforms,
    cases_random,
    cases_neural,
    cases_programs,
]
CASES = {case.name: case for table in TABLES for case in table.CASES}


def test_case_names_are_unique():
    assert len(CASES) == sum(len(table.CASES) for table in TABLES)


@pytest.mark.parametrize("name", CASES)
def test_case(name, device, reference_device):
    check(CASES[name], device, reference_device)
