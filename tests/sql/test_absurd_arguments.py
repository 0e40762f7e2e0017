"""Arguments that no device has: their operator has no answer, and nothing else of the lake is another."""

import pytest

from tracelake.lake import Lake

from ..support import trace_bytes

BIG = 2**40
#: Shapes of a product's two inputs that tell nothing. Those of `far` are shapes, and their FLOP are beyond 64 bits.
SHAPES = {
    "huge": [[BIG, BIG], [BIG, BIG]], "negative": [[-4, 8], [8, -2]], "many": [[2] * 10_000, [2] * 10_000],
    "words": [["x", None], [1.5, True]], "beyond": [[2**63, 2], [2, 2**63]], "text": "text", "number": 5, "none": [],
    "far": [[BIG, 1], [1, BIG]],
}  # fmt: skip
LOADS = (
    f"execute_context_1({2**62})_generation_1({2**62})", f"step[DECODE bs={2**63 - 1} toks={2**63 - 1}]",
    f"step[MIXED bs=1 c_sq={2**62} c_sk=1 c_sqsq={2**62} c_sqsk=0 g_sq={2**62} g_sk=1 g_sqsq={2**62 - 1} g_sqsk=0]",
    f"step[MIXED bs=1 c_sq=1 c_sk={2**63 - 1} c_sqsq={2**63 - 1} c_sqsk={2**63 - 1}]",
)  # fmt: skip


def trace(*shapes: object, notes: tuple[str, ...] = (), kernel_us: float = 4.0) -> bytes:
    """Products of some shapes with a kernel each, the first of so many microseconds, and annotations."""
    events = []
    for nth, dims in enumerate(shapes):
        ids = {"External id": nth, "correlation": nth}
        on_host = {"ph": "X", "pid": 1, "tid": 1, "ts": 10 * nth}
        types = {"Input Dims": dims, "Input type": ["c10::BFloat16"] * 2}
        kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10 * nth + 3}
        events += [
            {**on_host, "cat": "cpu_op", "name": "aten::mm", "dur": 5, "args": ids | types},
            {**on_host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 1, "args": ids},
            {**kernel, "dur": kernel_us if nth == 0 else 4, "args": ids | {"device": 0, "stream": 7}},
        ]
    for name in notes:
        events.append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": 9})
    return trace_bytes(events, schemaVersion=1)


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """A lake of a sound trace alone, and one with a hostile trace beside it."""
    folder = tmp_path_factory.mktemp("absurd")
    (folder / "sound.json").write_bytes(trace([[2, 3], [3, 4]], [[4, 4], [4, 4]]))
    # 4e15 us are 126 years: 100 times as many ns are beyond 64 bits.
    (folder / "hostile.json").write_bytes(trace(*SHAPES.values(), [[2, 3], [3, 4]], notes=LOADS, kernel_us=4e15))
    with Lake(folder / "alone") as alone, Lake(folder / "both") as both:
        alone.ingest(folder / "sound.json")
        both.ingest(folder / "sound.json", folder / "hostile.json")
        yield alone, both


@pytest.mark.parametrize("relation", [
    "operator_works", "ops", "pass_coverage", "steps", "pass_workloads", "category_times", "time_breakdown",
])  # fmt: skip
def test_a_trace_with_absurd_arguments_answers_and_changes_nothing_of_another(lakes, relation):
    alone, both = lakes
    sound = alone.resolve("sound")
    of_sound = f"FROM {relation} WHERE trace_id = '{sound}' ORDER BY ALL"
    assert both.rows(of_sound) == alone.rows(of_sound)
    both.rows(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {relation}")
    assert both.rows("SELECT relation, reason FROM _set_aside") == []


def test_an_operator_of_absurd_shapes_has_no_flop_and_the_one_beside_it_has_its_own(lakes):
    _, both = lakes
    found = both.rows(
        "SELECT flop FROM operator_works WHERE trace_id = $1 ORDER BY flop NULLS LAST", [both.resolve("hostile")]
    )
    # 2 x 2 x 3 x 4 of the sound shape; of the others none.
    assert found[0] == (48,)
    assert {flop for (flop,) in found[1:]} == {None}
