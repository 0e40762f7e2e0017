"""Synthetic traces of a run's ranks, with known late and slow ranks and slow links.

Every rank does the same in a step: it computes, exchanges tokens (all-to-all), computes, exchanges them back, computes,
and reduces gradients (all-reduce). No rank leaves a collective before the last has arrived. An all-reduce ends on all
ranks at once; an all-to-all ends on a rank when its own messages are transferred, so a slow link shows on its rank.
"""

import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The parts of a step: computing time in µs, then the collective, its transfer time in µs and its bytes.
PARTS = ((400.0, "all_to_allv", 120.0, 16 << 20), (600.0, "all_to_allv", 120.0, 16 << 20),
         (500.0, "allreduce", 200.0, 64 << 20))  # fmt: skip
KERNELS = {
    "all_to_allv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "allreduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"
H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}
#: From the end of a step to the launch of the next, µs.
BETWEEN_US = 50.0
#: From a launch to the start of its kernel on an idle device, µs.
LAUNCH_US = 5.0
#: 1 November 2026, 02:00 UTC: the moment 0 of every clock, ns since 1970.
RECORDED_NS = 1_793_498_400_000_000_000


@dataclass(frozen=True)
class Rank:
    """What distinguishes a rank from the others.

    Attributes:
        late_us: delay of its host at the start of every step.
        slowness: its computing times, as a multiple of the others'.
        link_us: additional time of its all-to-alls.
        clock_us: what its clock shows at the moment 0.
    """

    late_us: float = 0.0
    slowness: float = 1.0
    link_us: float = 0.0
    clock_us: float = 0.0


def write_ranks(
    folder: Path, ranks: Sequence[Rank], *, steps: int = 8, slowness: float = 1.0, noise: float = 0.01, seed: int = 0,
    start_ns: int = RECORDED_NS,
) -> list[Path]:  # fmt: skip
    """Write a trace per rank, `rank0.json.gz` and so on, and return their paths.

    Args:
        folder: an existing folder to write to.
        ranks: what distinguishes each.
        steps: how many each trace shows.
        slowness: computing times of all, as a multiple of those in `PARTS`.
        noise: standard deviation of computing times, as a share of them.
        seed: of the noise: the same seed writes the same bytes.
        start_ns: the moment 0, ns since 1970.
    """
    chance = random.Random(seed)
    events: list[list[dict[str, Any]]] = [[] for _ in ranks]
    begin = [1000.0 for _ in ranks]
    for step in range(steps):
        hosts = [at + BETWEEN_US + rank.late_us for at, rank in zip(begin, ranks, strict=True)]
        now = [at + LAUNCH_US for at in hosts]
        for part, (compute, kind, transfer, size) in enumerate(PARTS):
            lasts = [compute * slowness * rank.slowness * chance.gauss(1, noise) for rank in ranks]
            came = [at + lasting for at, lasting in zip(now, lasts, strict=True)]
            links = [rank.link_us if kind == "all_to_allv" else 0.0 for rank in ranks]
            # What the others receive from the rank with the slow link is late as well, but less than its own messages.
            shared = max(links) / len(ranks)
            ends = [max(came) + transfer + max(link, shared) for link in links]
            call = {
                "Collective name": kind, "In msg nelems": size // 2, "Out msg nelems": size // 2, "dtype": "BFloat16",
                "Group size": len(ranks), "Process Group Name": "0",
                "Process Group Ranks": str(list(range(len(ranks)))), "Seq": step * len(PARTS) + part,
            }  # fmt: skip
            number = 2 * (step * len(PARTS) + part)
            for own, host, at, arrival, end in zip(events, hosts, now, came, ends, strict=True):
                launched = host + 2 * part
                own.extend(_launched(GEMM, launched, at, arrival - at, number, 7, {}))
                own.extend(_launched(KERNELS[kind], launched + 1, arrival, end - arrival, number + 1, 20, call))
            now = ends
        for own, host, end in zip(events, hosts, now, strict=True):
            own.append(_event("user_annotation", f"ProfilerStep#{step}", 1, 1, host - 1, end - host, {}))
        begin = now
    return [
        _write(folder / f"rank{number}.json.gz", own, number, len(ranks), rank, start_ns)
        for number, (own, rank) in enumerate(zip(events, ranks, strict=True))
    ]


#: Number of nights in the history, and the first of those in which computing is slower.
NIGHTS, SHIFTED = 30, 21
DAY_NS = 86_400 * 10**9


def write_fleet(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Write the runs of a fleet, and yield the name of each with the paths of its traces.

    A night has one rank; from `nightly-21` on computing takes 4 % longer. The run `eight-ranks`, of the last night, has
    eight, with clocks up to a second apart; the all-to-alls of rank 5 take 200 µs longer.
    """
    for night in range(1, NIGHTS + 1):
        run = f"nightly-{night:02}"
        (folder / run).mkdir(parents=True)
        slowness = 1.04 if night >= SHIFTED else 1.0
        start_ns = RECORDED_NS + (night - 1) * DAY_NS
        yield run, write_ranks(folder / run, [Rank()], steps=4, slowness=slowness, seed=night, start_ns=start_ns)
    clocks = (0, 5000, -3000, 700, 1_000_000, -250, 12, 8000)
    ranks = [Rank(clock_us=clock, link_us=200 if number == 5 else 0) for number, clock in enumerate(clocks)]
    (folder / "eight-ranks").mkdir()
    yield (
        "eight-ranks",
        write_ranks(folder / "eight-ranks", ranks, slowness=1.04, start_ns=RECORDED_NS + NIGHTS * DAY_NS),
    )


def _launched(
    name: str, host: float, start: float, dur: float, correlation: int, stream: int, call: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a kernel and the call that launches it."""
    shared = {"correlation": correlation + 1}
    return [
        _event("cuda_runtime", "cudaLaunchKernel", 1, 1, host, 0.5, shared),
        _event("kernel", name, 0, stream, start, dur, {"device": 0, "stream": stream, **shared, **call}),
    ]


def _event(
    category: str, name: str, pid: int, tid: int, ts: float, dur: float, args: Mapping[str, Any]
) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": dict(args)}


def _write(path: Path, events: list[dict[str, Any]], number: int, ranks: int, rank: Rank, start_ns: int) -> Path:
    """Write a rank's events in its own clock."""
    shown = [{**event, "ts": round(event["ts"] + rank.clock_us, 3), "dur": round(event["dur"], 3)} for event in events]
    trace = {
        "baseTimeNanoseconds": start_ns, "deviceProperties": [H100],
        "distributedInfo": {"backend": "nccl", "rank": number, "world_size": ranks}, "traceEvents": shown,
    }  # fmt: skip
    path.write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))
    return path
