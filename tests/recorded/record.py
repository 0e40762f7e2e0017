"""Records traces of work that is known, on one GPU: `cd tests && python -m recorded.record FOLDER [PART …]`.

Each part writes `<name>.json.gz` and its entry in `truth.json`: what was run, the FLOP that PyTorch's own counter
gives, and times by the device's events, outside the profiler. Models are small, of known size, with random weights. A
part that fails is named in `truth.json` and the others go on.
"""

import json
import sys
import time
import traceback

import torch

from . import kernels, models, turns  # noqa: F401  (they register their parts)
from .recorder import DEVICE, OUT, PARTS, TRUTH


def main() -> None:
    """Run the parts."""
    OUT.mkdir(parents=True, exist_ok=True)
    about = {"device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "torch": torch.__version__}
    for name in sys.argv[2:] or list(PARTS):
        began = time.perf_counter()
        try:
            PARTS[name]()
        except Exception:  # noqa: BLE001  (a part that fails is not to cost the others)
            TRUTH[name] = {"failed": traceback.format_exc()}
        sys.stderr.write(f"{name}: {time.perf_counter() - began:.1f} s\n")
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
        (OUT / "truth.json").write_text(json.dumps({"about": about} | TRUTH, indent=1, default=str))


if __name__ == "__main__":
    main()
