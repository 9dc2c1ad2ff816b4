"""Trains a classifier of handwritten digits in JAX on Kiln, and sets Kiln beside XLA:CPU in the same process.

The data are scikit-learn's digits, which come with that package: 1797 images of 8 x 8 pixels. Ends with exit code 1
when the accuracy on images kept aside is below 0.96.
"""

import argparse
import os
import re
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

WANTED_ACCURACY = 0.96
LAYERS = (64, 256, 128, 10)
OPTIMIZER = optax.adamw(3e-3, weight_decay=0.1)


def load_data():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    return train_test_split(images, labels.astype(np.int32), test_size=0.2, random_state=0, stratify=labels)


def initial_parameters(key):
    keys = jax.random.split(key, len(LAYERS) - 1)
    return [
        {"w": jax.random.normal(k, (size, width)) * np.sqrt(2 / size).astype(np.float32), "b": jnp.zeros(width)}
        for k, size, width in zip(keys, LAYERS, LAYERS[1:])
    ]


def predict(parameters, images):
    x = images
    for layer in parameters[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return x @ parameters[-1]["w"] + parameters[-1]["b"]


def loss(parameters, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(predict(parameters, images), labels).mean()


def train_step(state, images, labels):
    parameters, optimizer_state = state
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    updates, optimizer_state = OPTIMIZER.update(gradients, optimizer_state, parameters)
    return (optax.apply_updates(parameters, updates), optimizer_state), value


def accuracy(parameters, images, labels):
    return jnp.mean(predict(parameters, images).argmax(1) == labels)


class Trainer:
    """The training step compiled for one device, with the state that it works on."""

    def __init__(self, device, images, labels):
        self.device = device
        with jax.default_device(device):
            parameters = jax.jit(initial_parameters)(jax.random.key(0))
            self.state = jax.device_put((parameters, OPTIMIZER.init(parameters)), device)
        lowered = jax.jit(train_step, donate_argnums=0).lower(self.state, *self.put(images, labels))
        start = time.perf_counter()
        self.compiled = lowered.compile()
        self.compiled.memory_analysis()  # waits for code that is still being made
        self.compile_seconds = time.perf_counter() - start

    def put(self, *arrays):
        return jax.device_put(arrays, self.device)

    def step(self, images, labels):
        self.state, value = self.compiled(self.state, images, labels)
        return value


def batches(generator, count, size):
    """Indices of one epoch's full batches."""
    order = generator.permutation(count)
    return [order[i : i + size] for i in range(0, count - size + 1, size)]


def train(trainer, images, labels, epochs, batch_size):
    generator = np.random.default_rng(0)
    steps = epochs * (len(images) // batch_size)
    with tqdm(total=steps, unit="step", desc=f"training on {trainer.device.platform}") as progress:
        for _ in range(epochs):
            for indices in batches(generator, len(images), batch_size):
                value = trainer.step(*trainer.put(images[indices], labels[indices]))
                progress.update()
            progress.set_postfix(loss=f"{float(value):.4f}")


def time_steps(trainers, images, labels, rounds=30, steps=10):
    """Median seconds of a step for each trainer, in turns so that both meet the same machine."""
    inputs = [trainer.put(images, labels) for trainer in trainers]
    samples = [[] for _ in trainers]
    for _ in range(rounds):
        for trainer, batch, times in zip(trainers, inputs, samples):
            start = time.perf_counter()
            for _ in range(steps):
                value = trainer.step(*batch)
            value.block_until_ready()
            times.append((time.perf_counter() - start) / steps)
    return [statistics.median(times) for times in samples]


def describe_fusions(compiled):
    """Lines that say what was fused: from the text of the optimized program, or from the platform's own counts."""
    text = compiled.as_text()
    if not text:
        counts = compiled.cost_analysis() or {}
        if "kernels" not in counts:
            return ["the platform tells neither the optimized program nor how much of it is fused"]
        return [f"{counts['fused operations']:.0f} operations were fused; {counts['kernels']:.0f} kernels were generated"]
    # Bodies of fusions are computations; an instruction line holds ' = '.
    bodies, body = {}, None
    for line in text.splitlines():
        if line.rstrip().endswith("{") and " = " not in line.split("{")[0]:
            body = bodies.setdefault(line.removeprefix("ENTRY ").split()[0].lstrip("%").split("(")[0], [])
        elif body is not None and " = " in line:
            body.append(line)
    fusions = []
    for lines in bodies.values():
        for line in lines:
            match = re.search(r"\bfusion\(.*calls=%?([\w.\-]+)", line)
            if match:
                operations = [
                    found.group(1)
                    for inner in bodies.get(match.group(1), [])
                    if (found := re.search(r"= [^=]*?\s([a-z][a-z0-9\-]*)\(", inner)) and found.group(1) != "parameter"
                ]
                fusions.append((line.split(" = ")[0].strip().removeprefix("ROOT ").lstrip("%"), operations))
    if not fusions:
        return ["no fusion appears in the optimized program"]
    inside = sum(len(operations) for _, operations in fusions)
    lines = [f"{len(fusions)} fusions hold {inside} operations; the largest:"]
    for name, operations in sorted(fusions, key=lambda fusion: -len(fusion[1]))[:5]:
        shown = ", ".join(operations[:8]) + (", ..." if len(operations) > 8 else "")
        lines.append(f"  {name}: {len(operations)} operations ({shown})")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="images per step (default: %(default)s)")
    parser.add_argument("--platform", default="kiln", help="JAX platform to train on (default: %(default)s)")
    options = parser.parse_args()

    jax.config.update("jax_platforms", options.platform if options.platform == "cpu" else f"{options.platform},cpu")
    train_images, test_images, train_labels, test_labels = load_data()
    first = train_images[: options.batch_size], train_labels[: options.batch_size]

    trainer = Trainer(jax.devices(options.platform)[0], *first)
    reference = Trainer(jax.devices("cpu")[0], *first)
    print(f"JAX {jax.__version__}, platform {trainer.device.platform}: {trainer.device.client.platform_version.splitlines()[-1]}")

    train(trainer, train_images, train_labels, options.epochs, options.batch_size)
    parameters = trainer.state[0]
    reached = float(jax.jit(accuracy)(parameters, *trainer.put(test_images, test_labels)))
    print(f"\naccuracy on {len(test_images)} test images: {reached:.4f} (wanted: {WANTED_ACCURACY} or more)")

    step_seconds, reference_step_seconds = time_steps([trainer, reference], *first)
    print(f"\n{'training step':16}{options.platform:>12}{'XLA:CPU':>12}{'speed-up':>10}")
    for label, own, other, scale, unit in [
        ("compile", trainer.compile_seconds, reference.compile_seconds, 1e3, "ms"),
        ("run", step_seconds, reference_step_seconds, 1e6, "us"),
    ]:
        print(f"{label:16}{own * scale:9.0f} {unit}{other * scale:9.0f} {unit}{other / own:9.2f}x")

    print(f"\nfused by {options.platform}:")
    print("\n".join(f"  {line}" for line in describe_fusions(trainer.compiled)))
    return 0 if reached >= WANTED_ACCURACY else 1


if __name__ == "__main__":
    os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "0")
    raise SystemExit(main())
