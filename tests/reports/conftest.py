"""A lake of several traces whose differences are known, for the pages about them."""

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.ranks import DAY_NS, Rank, write_ranks
from tracelake.synthetic.steps import GEMM, NCCL, RECORDED_NS, STEP, Work, slower, write_steps

from ..lakes import ingest_at_once

#: A kernel of each of some categories, more than a waterfall has bars for.
KERNELS = (
    GEMM, NCCL, "softmax_warp_forward<float>", "layer_norm_kernel", "vectorized_elementwise_kernel<4, GeluCUDAKernel>",
    "vectorized_elementwise_kernel<4, AddFunctor<float>>", "at::native::reduce_kernel<512, 1>", "flash_fwd_kernel",
    "vectorized_elementwise_kernel<4, FillFunctor<float>>", "at::native::index_elementwise_kernel<128, 4>",
    "cub::DeviceRadixSortOnesweepKernel", "at::native::sbtopk::gatherTopK<float>", "direct_copy_kernel_cuda",
    "multi_tensor_apply_kernel<AdamFunctor>", "cudnn_convolution_fprop", "embedding_forward_kernel",
    "cub::DeviceScanKernel",
)  # fmt: skip
#: Nights of the history, and the first of those whose second product takes 10 % longer.
NIGHTS, SHIFTED = 8, 4


class Fleet:
    """The lake, and what it answers about several traces."""

    def __init__(self, lake):
        self.lake = lake

    def answers(self):
        return {
            "pair": lambda: self.lake.compare_sides("night-0", "night-7"),
            "sides": lambda: self.lake.compare_sides(by="run"),
            "history": lambda: self.lake.history("step_ms", by="trace", where="trace LIKE 'night%'"),
            "ranks": lambda: self.lake.ranks("three"),
        }


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """Nights of a training loop, its second product slower from one on; and three ranks, the link of one slow."""
    folder = tmp_path_factory.mktemp("fleet")
    files = {}
    for night in range(NIGHTS):
        step = slower(STEP, 2, 1.1) if night >= SHIFTED else STEP
        path = folder / f"night-{night}.json"
        write_steps(path, step, noise=0.002, seed=night, steps=8, start_ns=RECORDED_NS + night * DAY_NS)
        files[path] = {"run": "before" if night < SHIFTED else "after", "model": "llama-3-8b"}
    for nth, name in enumerate(("many", "more")):
        step = [Work("M", "", kernel, 5 + nth * place) for place, kernel in enumerate(KERNELS)]
        files[write_steps(folder / f"{name}.json", step, steps=3)] = {}
    (folder / "three").mkdir()
    for path in write_ranks(folder / "three", [Rank(), Rank(link_us=200), Rank()], steps=4):
        files[path] = {"run": "three", "hardware": "h200"}
    with Lake(folder / "lake", stored=False) as lake:
        ingest_at_once(lake, files)
        yield Fleet(lake)
