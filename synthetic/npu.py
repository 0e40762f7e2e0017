"""A small synthetic table of kernels, as an Ascend profiler writes it, with known figures.

A dense model of four layers serves eight requests on two devices of tensor parallelism; the table is of one device. A
prefill of 96 tokens comes first, then three decodes of eight. Each collective has two rows, as in real tables: the
logical row, without a stream, and the vector kernel that executes it, at the same time. All durations are whole
microseconds, one after the other with a pause of 1 us, so each sum can be checked by hand.
"""

from collections.abc import Iterator
from pathlib import Path

LAYERS = 4
HIDDEN, QKV, HEADS, HEAD_DIM, INTERMEDIATE, VOCABULARY = 1024, 768, 4, 128, 2816, 32000
#: Tokens and requests of each pass.
PASSES = ((96, 1), (8, 8), (8, 8), (8, 8))
START_US = 1_760_000_000_000_000
PAUSE_US = 400
COLUMNS = (
    "Device_id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,"
    "Input Shapes,Input Data Types,Output Shapes,Output Data Types"
)
_CUBE, _VECTOR, _MIX = "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC"
_MAIN_STREAM, _COLLECTIVE_STREAM = 2, 47
#: Input slots of the attention kernel in a table; most are empty.
_ATTENTION_SLOTS = 31

#: Type, name, core, duration in us, input shapes and types, output shape.
Kernel = tuple[str, str, str, int, tuple[tuple[str, str], ...], str]


def write_npu(path: Path) -> None:
    """Write the table to ``path``."""
    path.write_text(npu_table(), encoding="utf-8", newline="\n")


def npu_table() -> str:
    """Return the table's text."""
    lines, now, task = [COLUMNS], START_US, 0
    for tokens, requests in PASSES:
        for kind, name, core, duration, inputs, output in _pass_kernels(tokens, requests):
            task += 1
            shapes = ";".join(shape for shape, _ in inputs)
            types = ";".join(dtype for _, dtype in inputs)
            known = f'"""{shapes}""",{types},"""{output}""",DT_BF16' if inputs else "N/A,N/A,N/A,N/A"
            time = f"{now}.000\t,{duration}.000,0"
            if kind.startswith("hcom"):
                lines.append(f"0,N/A,N/A,{name}__428_{task}_1,{kind},COMMUNICATION,{time},0,{known}")
                lines.append(f"0,{task},{_COLLECTIVE_STREAM},{kind}AivKernel,{kind},COMMUNICATION,{time},8,{known}")
            else:
                lines.append(f"0,{task},{_MAIN_STREAM},{name},{kind},{core},{time},24,{known}")
            now += duration + 1
        now += PAUSE_US
    return "\n".join(lines) + "\n"


def _pass_kernels(tokens: int, requests: int) -> Iterator[Kernel]:
    yield _aclnn("GatherV2", _VECTOR, 2, ((f"{VOCABULARY},{HIDDEN}", "DT_BF16"), (f"{tokens}", "INT64")), tokens)
    for layer in range(LAYERS):
        yield _norm(tokens, first=layer == 0)
        yield _product(tokens, HIDDEN, QKV, 12)
        yield _attention(tokens, requests)
        yield _product(tokens, HEADS * HEAD_DIM, HIDDEN, 9)
        yield _all_reduce()
        yield _norm(tokens)
        yield _product(tokens, HIDDEN, INTERMEDIATE, 30)
        inner = ((f"{tokens},{INTERMEDIATE}", "DT_BF16"),)
        yield "SwiGlu", "aclnnSwiGlu_SwiGlu_SwiGlu", _VECTOR, 3, inner, f"{tokens},{INTERMEDIATE // 2}"
        yield _product(tokens, INTERMEDIATE // 2, HIDDEN, 16)
        yield _all_reduce()
    yield _norm(tokens)
    yield _product(requests, HIDDEN, VOCABULARY // 2, 40)
    yield _aclnn("ArgMaxV2", _VECTOR, 5, ((f"{requests},{VOCABULARY}", "DT_BF16"),), requests)


def _product(rows: int, inner: int, columns: int, duration: int) -> Kernel:
    inputs = ((f"{rows},{inner}", "DT_BF16"), (f"{inner},{columns}", "DT_BF16"))
    return "MatMulV2", "aclnnMm_MatMulV2_MatMulV2", _CUBE, duration, inputs, f"{rows},{columns}"


def _norm(tokens: int, *, first: bool = False) -> Kernel:
    hidden = (f"{tokens},{HIDDEN}", "DT_BF16")
    if first:
        return _aclnn("RmsNorm", _VECTOR, 3, (hidden, (f"{HIDDEN}", "DT_BF16")), tokens)
    return "AddRmsNormBias", "AddRmsNormBias", _VECTOR, 4, (hidden, hidden, (f"{HIDDEN}", "DT_BF16")), hidden[0]


def _attention(tokens: int, requests: int) -> Kernel:
    name = "aclnnFusedInferAttentionScoreV3_FusedInferAttentionScore_FusedInferAttentionScore"
    cache = ("400,128,128", "DT_BF16")
    slots = [(f"{tokens},{HEADS},{HEAD_DIM}", "DT_BF16"), cache, cache] + [("", "DT_UNDEFINED")] * 28
    slots[5] = slots[6] = (f"{requests}", "INT64")
    slots[14] = (f"{requests},16", "INT32")
    duration = 60 if requests == 1 else 20
    return "FusedInferAttentionScore", name, _MIX, duration, tuple(slots[:_ATTENTION_SLOTS]), slots[0][0]


def _all_reduce() -> Kernel:
    return "hcom_allReduce_", "hcom_allReduce", "COMMUNICATION", 14, (), ""


def _aclnn(kind: str, core: str, duration: int, inputs: tuple[tuple[str, str], ...], rows: int) -> Kernel:
    return kind, f"aclnn{kind}_{kind}_{kind}", core, duration, inputs, f"{rows},{HIDDEN}"
