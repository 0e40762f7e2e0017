"""Diagrams of a model: the stack, and one layer of each kind; as Mermaid for Markdown and as SVG for a page."""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Dims = Mapping[str, Any]

_SHAPES = {"box": ("[", "]"), "round": ("([", "])"), "store": ("[(", ")]")}
_ATTENTIONS = {
    "gqa": "attention with grouped heads", "window": "attention over a window", "mla": "latent attention (MLA)",
    "dsa": "sparse latent attention (DSA)", "v4_window": "attention over a window (V4)",
    "v4_top": "attention over selected compressed keys (V4)", "v4_dense": "attention over compressed keys (V4)",
}  # fmt: skip
#: The separator of sizes.
_BY = "\N{MULTIPLICATION SIGN}"
_MOST_RUNS = 6
_CHARACTER, _LINE, _PAD, _GAP_X, _GAP_Y = 6.4, 15, 10, 26, 30


@dataclass(frozen=True)
class Node:
    """A box: its id, its lines of text, its place, and its shape: box, round or store."""

    id: str
    lines: tuple[str, ...]
    row: int
    column: int = 0
    shape: str = "box"


@dataclass(frozen=True)
class Edge:
    """An arrow from one box to another."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Diagram:
    """A flow from top to bottom."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def mermaid(self) -> str:
        """Return the diagram as Mermaid."""
        lines = ["flowchart TD"]
        for node in self.nodes:
            left, right = _SHAPES[node.shape]
            lines.append(f'    {node.id}{left}"{"<br/>".join(_escaped(line) for line in node.lines)}"{right}')
        for edge in self.edges:
            arrow = "-.->" if edge.dashed else "-->"
            label = f'|"{_escaped(edge.label)}"|' if edge.label else ""
            lines.append(f"    {edge.start} {arrow}{label} {edge.end}")
        return "\n".join(lines) + "\n"

    def svg(self) -> str:
        """Return the diagram as SVG."""
        columns = sorted({node.column for node in self.nodes})
        rows = sorted({node.row for node in self.nodes})
        wide = {column: max(_width(node) for node in self.nodes if node.column == column) for column in columns}
        tall = {row: max(_height(node) for node in self.nodes if node.row == row) for row in rows}
        left, top, x, y = {}, {}, float(_PAD + 24), float(_PAD)
        for column in columns:
            left[column], x = x, x + wide[column] + _GAP_X
        for row in rows:
            top[row], y = y, y + tall[row] + _GAP_Y
        boxes = {}
        for node in self.nodes:
            width, height = _width(node), _height(node)
            aside = left[node.column] + (wide[node.column] - width) / 2
            boxes[node.id] = (aside, top[node.row] + (tall[node.row] - height) / 2, width, height)
        parts = [_arrow(boxes[edge.start], boxes[edge.end], edge) for edge in self.edges]
        parts += [_box(node, *boxes[node.id]) for node in self.nodes]
        across, down = f"{x - _GAP_X + _PAD:.0f}", f"{y - _GAP_Y + _PAD:.0f}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" viewBox="0 0 {across} {down}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="11.5" role="img" aria-label="{_xml(self.title)}">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>' + "".join(parts) + "</svg>"
        )


def diagrams(dims: Dims, kinds: Sequence[tuple[str, int]]) -> list[Diagram]:
    """Return a model's diagrams.

    Args:
        dims: a row of the relation architectures.
        kinds: runs of layers of one kind, in order: the kind, and the number of layers.
    """
    found = [_stack(dims, kinds)]
    found += [
        _layer(dims, kind, sum(layers for of, layers in kinds if of == kind))
        for kind in dict.fromkeys(kind for kind, _ in kinds)
    ]
    if dims["num_experts"]:
        found.append(_experts(dims))
    return found


def _stack(dims: Dims, kinds: Sequence[tuple[str, int]]) -> Diagram:
    hidden, vocabulary = dims["hidden_size"], dims["vocab_size"]
    nodes = [
        Node("ids", ("token ids [B, S]",), 0, shape="round"),
        Node("embedding", ("embedding", f"{vocabulary:,} {_BY} {hidden:,}"), 1),
    ]
    if len(kinds) <= _MOST_RUNS:
        nodes += [
            Node(f"run{nth}", (f"{layers} {_BY} {kind}", "norm, attention, add, norm, MLP, add"), 2 + nth)
            for nth, (kind, layers) in enumerate(kinds)
        ]
    else:
        each = {kind: sum(layers for of, layers in kinds if of == kind) for kind, _ in kinds}
        lines = [f"{layers} {_BY} {kind}" for kind, layers in each.items()]
        nodes.append(Node("run0", (f"{sum(each.values())} layers, kinds in turn:", *lines), 2))
    last = len(nodes)
    nodes.append(Node("final", ("final norm",), last))
    if not dims["has_head"]:
        nodes.append(Node("states", (f"hidden states [B, S, {hidden:,}]",), last + 1, shape="round"))
        return Diagram("The stack", tuple(nodes), _chain([node.id for node in nodes]))
    nodes += [
        Node("head", ("output head" + (", the embedding's weights" if dims["tied_embeddings"] else ""),
                      f"{hidden:,} {_BY} {vocabulary:,}"), last + 1),
        Node("logits", (f"logits [B, S, {vocabulary:,}]",), last + 2, shape="round"),
    ]  # fmt: skip
    return Diagram("The stack", tuple(nodes), _chain([node.id for node in nodes]))


def _chain(ids: Sequence[str]) -> tuple[Edge, ...]:
    return tuple(Edge(start, end) for start, end in itertools.pairwise(ids))


def _layer(dims: Dims, kind: str, layers: int) -> Diagram:
    attention, mlp = kind.split("+")
    nodes = (
        Node("x", (f"x [B, S, {dims['hidden_size']:,}]",), 0, shape="round"),
        Node("norm1", ("norm",), 1),
        Node("attention", _attention_lines(dims, attention), 2),
        Node("cache", ("KV cache", _cache_shape(dims, attention)), 2, 1, "store"),
        Node("add1", ("add",), 3),
        Node("norm2", ("norm",), 4),
        Node("mlp", _mlp_lines(dims, mlp), 5),
        Node("add2", ("add",), 6),
        Node("y", ("x of the next layer",), 7, shape="round"),
    )
    edges = (
        *_chain(["x", "norm1", "attention", "add1", "norm2", "mlp", "add2", "y"]),
        Edge("x", "add1", "residual"), Edge("add1", "add2", "residual"),
        Edge("cache", "attention", "L cached tokens", dashed=True), Edge("attention", "cache", "append", dashed=True),
    )  # fmt: skip
    title = f"A layer of kind {kind} ({layers} of {dims['num_layers']})"
    return Diagram(title, nodes, edges)


def _attention_lines(dims: Dims, kind: str) -> tuple[str, ...]:
    hidden, heads = dims["hidden_size"], dims["num_heads"]
    lines = [_ATTENTIONS.get(kind, kind)]
    if kind in ("mla", "dsa"):
        query, wide = dims["q_lora_rank"], dims["qk_nope_head_dim"] + dims["qk_rope_head_dim"]
        lines.append(f"query: {hidden:,} → {f'{query:,} → ' if query else ''}{heads} {_BY} {wide}")
        lines.append(f"latent: {hidden:,} → {dims['kv_lora_rank']} + {dims['qk_rope_head_dim']}")
        lines.append(f"output: {heads} {_BY} {dims['v_head_dim']} → {hidden:,}")
        if kind == "dsa":
            lines.append(
                f"indexer: {dims['index_heads']} {_BY} {dims['index_head_dim']}, selects {dims['index_top_k']:,} keys"
            )
        return tuple(lines)
    wide = dims["head_dim"]
    rank = dims["q_lora_rank"]
    lines.append(f"query: {hidden:,} → {f'{rank:,} → ' if rank else ''}{heads} {_BY} {wide}")
    if kind.startswith("v4"):
        lines.append(f"shared key and value: {hidden:,} → {wide}")
        lines.append(f"window of {dims['sliding_window']} tokens")
        if kind == "v4_top":
            lines.append(
                f"indexer: {dims['index_heads']} {_BY} {dims['index_head_dim']}, selects {dims['index_top_k']:,} keys"
            )
    else:
        lines.append(f"key, value: {hidden:,} → 2 {_BY} {dims['num_kv_heads']} {_BY} {wide}")
        if kind == "window":
            lines.append(f"window of {dims['sliding_window']} tokens")
    lines.append(f"output: {heads} {_BY} {wide} → {hidden:,}")
    return tuple(lines)


def _cache_shape(dims: Dims, kind: str) -> str:
    if kind in ("mla", "dsa"):
        return f"[B, L, {dims['kv_lora_rank'] + dims['qk_rope_head_dim']}]"
    if kind.startswith("v4"):
        return f"[B, window and compressed L, {dims['head_dim']}]"
    length = "min(L, window)" if kind == "window" else "L"
    return f"[B, {length}, 2 {_BY} {dims['num_kv_heads']} {_BY} {dims['head_dim']}]"


def _mlp_lines(dims: Dims, kind: str) -> tuple[str, ...]:
    if kind == "moe":
        shared = f", {dims['num_shared_experts']} shared" if dims["num_shared_experts"] else ""
        return ("mixture of experts", f"{dims['num_experts']} experts, {dims['top_k']} per token{shared}",
                f"width {dims['moe_intermediate_size']:,}")  # fmt: skip
    gate = "gate and up, then down" if dims["gated_mlp"] else "up, then down"
    return ("MLP", gate, f"width {dims['intermediate_size']:,}")


def _experts(dims: Dims) -> Diagram:
    hidden, experts, top = dims["hidden_size"], dims["num_experts"], dims["top_k"]
    nodes = [
        Node("tokens", (f"tokens [B · S, {hidden:,}]",), 0, shape="round"),
        Node("router", ("router", f"{hidden:,} → {experts} scores"), 1),
        Node("top", (f"the {top} best of {experts}",), 2),
        Node("routed", (f"{top} expert MLPs", f"width {dims['moe_intermediate_size']:,}"), 3),
        Node("sum", ("weighted sum",), 4),
        Node("out", (f"[B · S, {hidden:,}]",), 5, shape="round"),
    ]
    edges = list(_chain([node.id for node in nodes]))
    if dims["num_shared_experts"] or dims["shared_intermediate_size"]:
        width = dims["shared_intermediate_size"] or dims["moe_intermediate_size"] * (dims["num_shared_experts"] or 1)
        count = dims["num_shared_experts"] or 1
        nodes.append(
            Node("shared", (f"{count} shared expert{'s' if count > 1 else ''}", f"width {width:,} in all"), 3, 1)
        )
        edges += [Edge("tokens", "shared"), Edge("shared", "sum")]
    return Diagram("The mixture of experts", tuple(nodes), tuple(edges))


def _escaped(text: str) -> str:
    """Escape a text for Mermaid: quotes end a label, # begins an entity, angle brackets are markup."""
    for character, entity in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, entity)
    return text


def _xml(text: str) -> str:
    return html.escape(text)


def _width(node: Node) -> float:
    return max(_CHARACTER * max(len(line) for line in node.lines) + 2 * _PAD, 70)


def _height(node: Node) -> float:
    return float(_LINE * len(node.lines) + 2 * _PAD - 4)


def _box(node: Node, x: float, y: float, width: float, height: float) -> str:
    radius = {"round": height / 2, "store": 3}.get(node.shape, 4)
    dashes = ' stroke-dasharray="5 3"' if node.shape == "store" else ""
    lines = "".join(
        f'<text x="{x + width / 2:.1f}" y="{y + _PAD + 9 + _LINE * nth:.1f}" text-anchor="middle" '
        f'font-weight="{"600" if nth == 0 and len(node.lines) > 1 else "400"}">{_xml(line)}</text>'
        for nth, line in enumerate(node.lines)
    )
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:.1f}" fill="#f6f8fa" '
        f'stroke="#1b3a5c"{dashes}/>{lines}'
    )


def _arrow(start: tuple[float, ...], end: tuple[float, ...], edge: Edge) -> str:
    x1, y1 = start[0] + start[2] / 2, start[1] + start[3]
    x2, y2 = end[0] + end[2] / 2, end[1]
    dashes = ' stroke-dasharray="4 3"' if edge.dashed else ""
    if edge.dashed:
        # Side by side: forward edges above, backward edges below.
        leftmost, rightmost = (start, end) if start[0] < end[0] else (end, start)
        out = start is leftmost
        at = leftmost[1] + leftmost[3] * (0.35 if out else 0.65)
        near, far = leftmost[0] + leftmost[2], rightmost[0]
        path = f"M{near if out else far:.1f} {at:.1f} H{far if out else near:.1f}"
        return f'<path d="{path}" fill="none" stroke="#555"{dashes} marker-end="url(#tip)"/>'
    if edge.label == "residual":
        # Around the boxes between, on the left: in above, out below, the second nearer than the first.
        y_from, y_to = start[1] + start[3] / 2 + 6, end[1] + end[3] / 2 - 6
        side = 8.0 if start[1] <= _PAD else 20.0
        path = f"M{start[0]:.1f} {y_from:.1f} H{side:.1f} V{y_to:.1f} H{end[0]:.1f}"
        return f'<path d="{path}" fill="none" stroke="#999" marker-end="url(#tip)"/>'
    if abs(x1 - x2) <= 1:
        path = f"M{x1:.1f} {y1:.1f} V{y2:.1f}"
    elif x2 > x1:
        path = f"M{start[0] + start[2]:.1f} {start[1] + start[3] / 2:.1f} H{x2:.1f} V{y2:.1f}"
    else:
        path = f"M{x1:.1f} {y1:.1f} V{end[1] + end[3] / 2:.1f} H{end[0] + end[2]:.1f}"
    return f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>'
