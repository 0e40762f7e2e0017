"""Records one capture of JAX's profiler on a CPU as both files that it writes: `python record_pair.py FOLDER`.

`pair/` was made with jax 0.10.2. The host's name is left out.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys, jax, jax.numpy as jnp
@jax.jit
def f(x, w):
    return jnp.tanh(jnp.tanh(x @ w) @ w).sum()
x = w = jnp.ones((64, 64))
f(x, w).block_until_ready()
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
with jax.profiler.trace(sys.argv[1], profiler_options=options, create_perfetto_trace=True):
    for step in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            f(x, w).block_until_ready()
"""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def without_host(space: bytes) -> bytes:
    """Return an XSpace without what is not a plane, the name of the host."""
    kept, at = b"", 0
    while at < len(space):
        start = at
        key, at = varint(space, at)
        length, at = varint(space, at)
        at += length
        kept += space[start:at] if key == 10 else b""
    return kept


def main(target: Path) -> None:
    """Write cpu.xplane.pb and cpu.trace.json.gz."""
    with tempfile.TemporaryDirectory() as folder:
        # A program without a file has no path that its HLO could name.
        subprocess.run([sys.executable, "-c", PROGRAM, folder], check=True)
        [xplane] = Path(folder).rglob("*.xplane.pb")
        [chrome] = [path for path in Path(folder).rglob("*.trace.json.gz") if path.name != "perfetto_trace.json.gz"]
        (target / "cpu.xplane.pb").write_bytes(without_host(xplane.read_bytes()))
        shutil.copyfile(chrome, target / "cpu.trace.json.gz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
