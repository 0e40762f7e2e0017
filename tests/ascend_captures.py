"""Made-up captures in the form of kernel_details.csv whose passes and layers are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

HEADER = (
    "Device_id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,"
    "Input Shapes,Input Data Types"
)
#: Hidden size, vocabulary, and width of the made-up models.
HIDDEN, VOCABULARY = 5120, 151936
MAIN, TWIN, OTHER = 2, 47, 9


@dataclass(frozen=True)
class Row:
    """A row of the table, and the truth about it."""

    kind: str
    start: Decimal
    dur: Decimal
    stream: int | None
    name: str
    shapes: str
    pass_no: int | None = None
    layer: int | None = None
    part: str | None = None

    def line(self, task: int) -> str:
        """Return the row as the file has it."""
        stream = "N/A" if self.stream is None else str(self.stream)
        core = "COMMUNICATION" if self.kind.startswith("hcom") else "AI_CORE"
        shapes = "N/A" if self.shapes == "N/A" else f'"""{self.shapes}"""'
        types = (
            "N/A"
            if self.shapes == "N/A"
            else ";".join("DT_BF16" if s else "DT_UNDEFINED" for s in self.shapes.split(";"))
        )
        number = "N/A" if self.stream is None else str(task % 65536)
        times = f"{self.start:.3f}\t,{self.dur:.3f},0"
        return f"0,{number},{stream},{self.name},{self.kind},{core},{times},24,{shapes},{types}"


@dataclass
class Capture:
    """Rows in the order of time; each begins a microsecond after the one before ends.

    Attributes:
        shown: shapes are written, as from Level1 on.
        twins: collectives have the row of the kernel that carried them out beside them.
    """

    shown: bool = True
    twins: bool = True
    clock: Decimal = Decimal(1751520000000000)
    rows: list[Row] = field(default_factory=list)
    pass_no: int = -1
    layer: int | None = None
    part: str | None = None

    def add(
        self, kind: str, dur: float = 5, shapes: str = "N/A", *, stream: int | None = MAIN, apart: float = 1
    ) -> Row:
        """Append a kernel."""
        row = Row(
            kind, self.clock, Decimal(str(dur)), stream, kind, shapes if self.shown else "N/A",
            self.pass_no if self.part or self.layer is not None else None, self.layer, self.part,
        )  # fmt: skip
        self.rows.append(row)
        self.clock += row.dur + Decimal(str(apart))
        return row

    def beside(self, kind: str, of: Row, later: float = 0.5, dur: float = 3, shapes: str = "N/A") -> None:
        """Append a kernel of another stream that starts while a kernel of the main stream runs."""
        start = of.start + Decimal(str(later))
        self.rows.append(Row(kind, start, Decimal(str(dur)), OTHER, kind, shapes, of.pass_no, of.layer, of.part))

    def collective(self, kind: str = "hcom_allReduce_", dur: float = 15) -> None:
        """Append a collective: its logical row, and that of its vector kernel."""
        start = self.clock
        logical = self.add(kind, dur, stream=None)
        self.rows[-1] = Row(**{**logical.__dict__, "name": f"{kind}_428_{len(self.rows)}_1"})
        if self.twins:
            twin = {**logical.__dict__, "name": f"{kind}AivKernel", "stream": TWIN, "start": start}
            self.rows.append(Row(**twin))

    def begin_pass(self) -> None:
        """Append the lookup of the embedding of 16 tokens, with which the next pass begins."""
        self.pass_no += 1
        self.part = "prologue"
        self.add("GatherV2", 2, "151936,5120;16;1")
        self.part = None

    def wait(self, microseconds: float) -> None:
        """Let the device idle."""
        self.clock += Decimal(str(microseconds))

    def product(self, tokens: int, out: int, dur: float = 8) -> Row:
        """Append a matrix product."""
        return self.add("MatMulV2", dur, f"{tokens},{HIDDEN};{HIDDEN},{out}")

    def text(self, order: Callable[[Row], object] | None = None, rows: Iterable[Row] | None = None) -> str:
        """Return the file, its rows in the order of time or in another."""
        listed = sorted(self.rows if rows is None else rows, key=lambda row: row.start)
        if order is not None:
            listed.sort(key=order)
        return "\n".join([HEADER, *(row.line(task) for task, row in enumerate(listed, 1))]) + "\n"

    def write(self, path: Path, **options: object) -> Path:
        """Write the file."""
        path.write_text(self.text(**options), encoding="utf-8", newline="\n")
        return path


Attention = Callable[[Capture, int, int, int], None]


def paged(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Attention over a paged cache."""
    capture.product(tokens, 640)
    capture.add("split_qkv_rmsnorm_rope_kernel_0", 5)
    capture.add("ReshapeAndCacheNdKernel", 2)
    shapes = f"{tokens},4,128;1000,128,128;1000,128,128;;2048,2048;{requests};{requests};;;;;;;;{requests},32"
    capture.add("FusedInferAttentionScore", 20, shapes)
    capture.product(tokens, 512)


def norms_of_queries(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """The same with the norms of queries and keys as kernels of their own."""
    capture.product(tokens, 640)
    capture.add("RmsNorm", 2)
    capture.add("RmsNorm", 2)
    capture.add("_triton_rope", 3)
    capture.add("FusedInferAttentionScore", 20, f"{tokens},4,128;1000,128,128;1000,128,128;;;{requests};{requests}")
    capture.product(tokens, 512)


def latent(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Latent attention, its query at (requests, heads, 1, dimension)."""
    capture.product(tokens, 1536)
    capture.add("RmsNorm", 2)
    capture.product(tokens, 3072)
    capture.add("KvRmsNormRopeCache", 3)
    capture.add("FusedInferAttentionScore", 20, f"{tokens},16,1,512;1135,1,128,512;1135,1,128,512;;;;{requests}")
    capture.product(tokens, 512)


def chunked(chunks: int) -> Attention:
    """Return latent attention of a long prompt: one anchor for each chunk of the cache, and one for the prompt."""

    def attention(capture: Capture, tokens: int, requests: int, layer: int) -> None:
        capture.product(tokens, 1536)
        for chunk in range(chunks + 1):
            if chunk:
                capture.add("PagedCacheLoadNdKernel", 3)
            capture.product(tokens, 3072)
            capture.add(
                "FusedInferAttentionScore", 30,
                f"{tokens},16,192;{tokens},16,192;{tokens},16,128;;;{requests};{requests}",
            )  # fmt: skip
            if chunk:
                capture.add("AttentionUpdate", 3)
        capture.product(tokens, 512)

    return attention


def sparse(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Sparse attention behind the kernel that picks its keys."""
    capture.product(tokens, 1536)
    capture.add("LightningIndexer", 9)
    capture.add("SparseFlashAttention", 12, f"{tokens},16,512;1000,128,1,512;;{tokens},1,2048;{requests},32;{requests}")
    capture.product(tokens, 512)


def hybrid(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Three layers of linear attention, in two kernels each, then one of full attention."""
    if layer % 4 == 3:
        paged(capture, tokens, requests, layer)
        return
    capture.product(tokens, 640)
    capture.add("chunk_gated_delta_rule_fwd_kernel_h", 11)
    capture.add("ChunkGatedDeltaRuleOutput", 7)
    capture.product(tokens, 512)


def dense(capture: Capture, tokens: int) -> None:
    """A dense feed-forward half after its norm."""
    capture.product(tokens, 3200, 30)
    capture.add("SwiGlu", 3)
    capture.product(tokens, HIDDEN, 25)


def experts(capture: Capture, tokens: int) -> None:
    """A mixture of experts, its shared expert on another stream."""
    capture.product(tokens, 256)
    gate = capture.add("MoeGatingTopK", 3)
    capture.beside("MatMulV2", gate)
    capture.add("MoeDistributeDispatchV2", 20)
    capture.add("GroupedMatmul", 30)
    capture.add("MoeDistributeCombineV2", 20)


@dataclass(frozen=True)
class Model:
    """What a forward pass runs.

    Attributes:
        layers: of the model.
        attention: its attention.
        residual: type of the norms that add the residual.
        mixtures: layers from this one on have experts.
        head: the first kernel is an embedding.
        tail: the last kernels are a final norm, the head and sampling.
        tensor_parallel: a collective ends each half.
        drafts: layers that draft a token after the pass, each with an embedding and a head of its own.
    """

    layers: int
    attention: Attention = paged
    residual: str = "AddRmsNormBias"
    mixtures: int = 10**6
    head: bool = True
    tail: bool = True
    tensor_parallel: bool = True
    drafts: int = 0

    def run(self, capture: Capture, tokens: int, requests: int) -> None:
        """Append a forward pass."""
        capture.pass_no += 1
        self._layers(capture, tokens, requests, range(self.layers))
        for draft in range(self.drafts):
            self._layers(capture, requests, requests, range(self.layers + draft, self.layers + draft + 1))

    def _layers(self, capture: Capture, tokens: int, requests: int, layers: Sequence[int]) -> None:
        outside = "between" if self.drafts else None
        main = layers[0] == 0
        if self.head:
            capture.part = "prologue" if main else outside
            capture.add("GatherV2", 2, f"{VOCABULARY},{HIDDEN};{tokens};1")
            capture.part = None
        for layer in layers:
            capture.layer = layer
            capture.add("RmsNorm" if layer == layers[0] and self.head else self.residual, 4, f"{tokens},{HIDDEN}")
            self.attention(capture, tokens, requests, layer)
            if self.tensor_parallel:
                capture.collective()
            capture.add(self.residual, 4, f"{tokens},{HIDDEN}")
            (experts if layer >= self.mixtures else dense)(capture, tokens)
            if self.tensor_parallel:
                capture.collective()
        capture.layer = None
        if self.tail:
            last = layers[-1] == self.layers + self.drafts - 1
            capture.part = "epilogue" if last else outside
            capture.add(self.residual, 4, f"{requests},{HIDDEN}")
            capture.product(requests, VOCABULARY // 16, 40)
            capture.add("ArgMaxV2", 6)
            capture.part = None
