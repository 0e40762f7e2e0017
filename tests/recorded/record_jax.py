"""Records captures of JAX on one GPU, each as XSpace and Chrome trace: `python record_jax.py FOLDER`.

A decoder of known size with random weights in bf16: forward passes with the layers written out, the same with the
layers in a `lax.scan`, steps of training, and a prefill with decodes, which are one function compiled twice.
`truth_jax.json` has XLA's own count of FLOP, and times outside the profiler. Of the XSpace that is kept the host's name
and the folder of this program are left out.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

TINY = jax.default_backend() == "cpu"
OUT = Path(sys.argv[1])
LAYERS, WIDTH, HEADS, FFN, VOCABULARY = (2, 64, 4, 128, 256) if TINY else (6, 1024, 16, 4096, 8192)
BATCH, LENGTH, STEPS = 2, 32 if TINY else 512, 4
TRUTH: dict[str, dict] = {}


def weights(key: jax.Array) -> dict:
    """Random weights, those of all layers stacked."""
    sizes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, FFN), "down": (FFN, WIDTH)}
    keys = jax.random.split(key, 5)
    layers = {
        name: (jax.random.normal(k, (LAYERS, *size)) * 0.02).astype(jnp.bfloat16)
        for k, (name, size) in zip(keys, sizes.items(), strict=False)
    }
    table = (jax.random.normal(keys[4], (VOCABULARY, WIDTH)) * 0.02).astype(jnp.bfloat16)
    return {"layers": layers, "table": table}


def norm(x: jax.Array) -> jax.Array:
    """RMS norm."""
    return (x * jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-6)).astype(x.dtype)


def layer(x: jax.Array, w: dict) -> jax.Array:
    """One layer: attention, then an MLP."""
    with jax.named_scope("attention"):
        q, k, v = jnp.split((norm(x) @ w["qkv"]).reshape(*x.shape[:2], HEADS, -1), 3, axis=-1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (WIDTH // HEADS) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
        seen = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v)
        x = x + seen.reshape(x.shape) @ w["out"]
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def forward(w: dict, ids: jax.Array, scan: bool = False) -> jax.Array:
    """Logits of a batch of tokens."""
    x = w["table"][ids]
    if scan:
        x = jax.lax.scan(lambda y, v: (layer(y, v), None), x, w["layers"])[0]
    else:
        for number in range(LAYERS):
            with jax.named_scope(f"layer_{number}"):
                x = layer(x, jax.tree.map(lambda v, number=number: v[number], w["layers"]))
    return norm(x) @ w["table"].T


def train(w: dict, ids: jax.Array) -> dict:
    """One step of gradient descent."""

    def loss(w: dict) -> jax.Array:
        chances = jax.nn.log_softmax(forward(w, ids[:, :-1]).astype(jnp.float32))
        return -jnp.take_along_axis(chances, ids[:, 1:, None], -1).mean()

    return jax.tree.map(lambda v, g: v - 1e-3 * g, w, jax.grad(loss)(w))


def cached(w: dict, cache: list, at: int, ids: jax.Array) -> tuple[jax.Array, list]:
    """The next token of each sequence, and the cache of keys and values with those of the tokens given."""
    x, new, places = w["table"][ids], [], jnp.arange(cache[0][0].shape[1])
    for number in range(LAYERS):
        v = jax.tree.map(lambda a, number=number: a[number], w["layers"])
        q, k, values = jnp.split((norm(x) @ v["qkv"]).reshape(*x.shape[:2], HEADS, -1), 3, axis=-1)
        keys = jax.lax.dynamic_update_slice(cache[number][0], k, (0, at, 0, 0))
        values = jax.lax.dynamic_update_slice(cache[number][1], values, (0, at, 0, 0))
        new.append((keys, values))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys).astype(jnp.float32) / (WIDTH // HEADS) ** 0.5
        seen = places[None, :] <= (at + jnp.arange(ids.shape[1]))[:, None]
        chances = jax.nn.softmax(jnp.where(seen, scores, -1e30)).astype(x.dtype)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", chances, values).reshape(x.shape) @ v["out"]
        x = x + jax.nn.gelu(norm(x) @ v["up"]) @ v["down"]
    return jnp.argmax(norm(x[:, -1:]) @ w["table"].T, -1), new


def record_generate(w: dict, ids: jax.Array) -> None:
    """Record a prefill and five decodes."""
    step = jax.jit(cached)

    def run() -> None:
        shape = (BATCH, LENGTH + 16, HEADS, WIDTH // HEADS)
        cache = [(jnp.zeros(shape, jnp.bfloat16), jnp.zeros(shape, jnp.bfloat16)) for _ in range(LAYERS)]
        token, cache = step(w, cache, 0, ids)
        for number in range(5):
            token, cache = step(w, cache, LENGTH + number, token)
        jax.block_until_ready(token)

    run()
    capture("jax_generate", run)
    TRUTH["jax_generate"] = {"layers": LAYERS, "steps": 6, "jax": jax.__version__}


def capture(name: str, run: Callable) -> None:
    """Record a run, in both formats."""
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        with jax.profiler.trace(folder, profiler_options=options):
            run()
        for path in Path(folder).rglob("*"):
            if path.name.endswith((".xplane.pb", ".trace.json.gz")):
                shutil.copyfile(path, OUT / f"{name}{'.xplane.pb' if path.suffix == '.pb' else '.trace.json.gz'}")


def record(name: str, function: Callable, *given: object) -> None:
    """Record runs of a function."""
    compiled = jax.jit(function).lower(*given).compile()
    for _ in range(3):
        jax.block_until_ready(compiled(*given))
    times = []
    for _ in range(9):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*given))
        times.append(time.perf_counter() - began)

    def run() -> None:
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                jax.block_until_ready(compiled(*given))

    capture(name, run)
    cost = compiled.cost_analysis()
    TRUTH[name] = {"flops": cost.get("flops"), "bytes": cost.get("bytes accessed"), "seconds": sorted(times)[4]}
    TRUTH[name] |= {"layers": LAYERS, "width": WIDTH, "heads": HEADS, "ffn": FFN, "vocabulary": VOCABULARY}
    TRUTH[name] |= {"batch": BATCH, "length": LENGTH, "steps": STEPS, "jax": jax.__version__}
    TRUTH[name] |= {"device": str(jax.devices()[0].device_kind)}


def main() -> None:
    """Record the captures."""
    OUT.mkdir(parents=True, exist_ok=True)
    w = weights(jax.random.key(0))
    ids = jax.random.randint(jax.random.key(1), (BATCH, LENGTH), 0, VOCABULARY)
    record("jax_forward", forward, w, ids)
    record("jax_scan", partial(forward, scan=True), w, ids)
    record("jax_train", train, w, ids)
    record_generate(w, ids)
    (OUT / "truth_jax.json").write_text(json.dumps(TRUTH, indent=1))


if __name__ == "__main__":
    main()
