"""Checks on which Kiln and XLA:CPU may differ, one by one, each with its reason."""

# (regular expression over `LABEL DTYPE [CHECK]`, reason)
EXCEPTIONS = []
