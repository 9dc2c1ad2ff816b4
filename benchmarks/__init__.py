"""Speed, compile time and memory of Kiln beside XLA:CPU: `python -m benchmarks --help`."""
