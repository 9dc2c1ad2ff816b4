"""Errors of the elementwise functions in units in the last place, on Kiln and on XLA:CPU, against mpmath."""
