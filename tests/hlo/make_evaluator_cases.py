"""Writes the evaluator's reference cases as JSON: HLO text, arguments and expected results.

Run with a Python that has jax (its CPU backend is the reference for structure and integers), numpy and scipy:
    python make_evaluator_cases.py ../data/evaluator
One file per family. An array is {"type", "shape", "hex"}: elements little endian, row-major, one byte at least each.
"ulps" bounds the distance of floating-point results in units of the last place of their type (0: equal bits, save NaN);
"rtol" bounds it relative to the largest finite magnitude of the result instead.
"""
import os
import sys

import evaluator_elementwise_cases as elementwise
import evaluator_structure_cases as structure


def main(directory):
    os.makedirs(directory, exist_ok=True)
    for make in [elementwise.integer_cases, elementwise.float_cases, elementwise.complex_cases, elementwise.convert_cases,
                 structure.movement_cases, structure.indexed_cases, structure.reduction_cases,
                 structure.contraction_cases, structure.linear_algebra_cases, structure.random_cases,
                 structure.control_cases]:
        make().write(directory)


if __name__ == "__main__":
    main(sys.argv[1])
