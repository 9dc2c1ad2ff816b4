"""What a call through JAX costs on Kiln, beside a plugin that does nothing and XLA:CPU."""
