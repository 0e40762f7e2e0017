"""Draws the documentation's Mermaid flow charts as SVG, so that the site needs no script for them.

Nodes are in columns, each to the right of its predecessors. Edges over several columns have a place in each of them;
a node is placed beside the middle of its neighbours, which leaves few crossings.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

_NODE = re.compile(r"(?P<name>\w+)\s*(?:(?P<shape>[\[({]+)\"?(?P<label>.*?)\"?[\])}]+)?$")
_ARROW = re.compile(r"\s*-->\s*(?:\|\"?(.*?)\"?\|)?\s*")
#: Pixels of a letter, a line, between columns, and between the nodes of one; rounds of ordering.
_LETTER, _LINE, _ACROSS, _APART, _ROUNDS = 6.8, 14, 64, 10, 12


@dataclass
class Node:
    """A box, or the place of an edge in a column it crosses, which has no lines.

    Attributes:
        lines: text.
        shape: the start of its Mermaid syntax: [ a box, [[ a stored relation, ([ one of another folder.
        column: counted from 0 at the left.
        y: its middle, pixels.
    """

    lines: tuple[str, ...] = ()
    shape: str = ""
    column: int = 0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Pixels."""
        return max((len(line) for line in self.lines), default=0) * _LETTER + (16 if self.lines else 0)

    @property
    def height(self) -> float:
        """Pixels."""
        return len(self.lines) * _LINE + 8 if self.lines else 0.0


@dataclass
class Graph:
    """Nodes by name, and edges with their labels."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)


def parsed(lines: Sequence[str]) -> Graph:
    """Parse a Mermaid flow chart: nodes, `a --> b`, `a & b -->|words| c`."""
    graph = Graph()
    for line in lines[1:]:
        parts = _ARROW.split(line.strip())
        sides = [[_node(graph, text) for text in part.split(" & ")] for part in parts[::2] if part]
        for before, after, words in zip(sides, sides[1:], parts[1::2], strict=False):
            graph.edges += [(a, b, words or "") for a in before for b in after]
    return graph


def _node(graph: Graph, text: str) -> str:
    found = _NODE.match(text.strip())
    if found is None:
        raise ValueError(f"not a node of a flow chart: {text}")
    known = graph.nodes.setdefault(found["name"], Node((found["name"],), "["))
    if found["label"]:
        known.lines, known.shape = tuple(found["label"].split("<br>")), found["shape"]
    return found["name"]


def drawn(lines: Sequence[str], link: Callable[[str], str | None]) -> str:
    """Return a flow chart as SVG.

    Args:
        lines: Mermaid, from `flowchart LR` on.
        link: returns the address that a node links to, if any.
    """
    graph = parsed(lines)
    _set_columns(graph)
    ways = _ways(graph)
    columns = _ordered(graph, ways)
    width = _set_places(graph, columns)
    height = max((node.y + node.height / 2 for node in graph.nodes.values()), default=0) + 4
    left = _lefts(graph, columns)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    shown = [
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="What rests on what">'
    ]
    shown += [_edge(graph, way, words, left) for way, words in ways]
    shown += [_box(node, left[node.column], link(name)) for name, node in graph.nodes.items() if node.lines]
    return "\n".join([*shown, "</svg>"])


def _set_columns(graph: Graph) -> None:
    """Put each node to the right of its predecessors; one without any, just left of its successors."""
    before, after = defaultdict(list), defaultdict(list)
    for a, b, _ in graph.edges:
        before[b].append(a)
        after[a].append(b)
    placed: set[str] = set()

    def place(name: str) -> int:
        if name not in placed:
            placed.add(name)
            graph.nodes[name].column = 1 + max((place(one) for one in before[name]), default=-1)
        return graph.nodes[name].column

    for name in graph.nodes:
        place(name)
    for name, node in graph.nodes.items():
        if not before[name] and after[name]:
            node.column = min(graph.nodes[one].column for one in after[name]) - 1


def _ways(graph: Graph) -> list[tuple[list[str], str]]:
    """Return each edge as the nodes on its way, with one in each column that it crosses, and its label."""
    ways = []
    for number, (a, b, words) in enumerate(graph.edges):
        way = [a]
        for column in range(graph.nodes[a].column + 1, graph.nodes[b].column):
            way.append(f"{number}/{column}")
            graph.nodes[way[-1]] = Node(column=column)
        ways.append(([*way, b], words))
    return ways


def _ordered(graph: Graph, ways: Sequence[tuple[list[str], str]]) -> list[list[str]]:
    """Return the names in each column from top to bottom."""
    beside = defaultdict(list)
    for way, _ in ways:
        for a, b in itertools.pairwise(way):
            beside[a].append(b)
            beside[b].append(a)
    columns: list[list[str]] = [[] for _ in range(1 + max(node.column for node in graph.nodes.values()))]
    for name, node in graph.nodes.items():
        columns[node.column].append(name)
    place: dict[str, float] = {}

    def order(column: list[str], fixed: Sequence[str]) -> None:
        """Put each name beside the middle of its neighbours in a column that is already ordered."""
        places = {name: nth / len(fixed) for nth, name in enumerate(fixed)}
        for nth, name in enumerate(column):
            near = [places[one] for one in beside[name] if one in places]
            place[name] = sum(near) / len(near) if near else nth / len(column)
        column.sort(key=lambda name: place[name])

    for _ in range(_ROUNDS):
        for nth in range(1, len(columns)):
            order(columns[nth], columns[nth - 1])
        for nth in range(len(columns) - 2, -1, -1):
            order(columns[nth], columns[nth + 1])
    return columns


def _lefts(graph: Graph, columns: Sequence[Sequence[str]]) -> list[float]:
    lefts, x = [], 2.0
    for column in columns:
        lefts.append(x)
        x += max((graph.nodes[name].width for name in column), default=0) + _ACROSS
    return [*lefts, x]


def _set_places(graph: Graph, columns: Sequence[Sequence[str]]) -> float:
    """Stack each column around a common middle line; return the total width."""
    tall = [sum(graph.nodes[name].height + _APART for name in column) for column in columns]
    for column, own in zip(columns, tall, strict=True):
        y = (max(tall) - own) / 2 + 4
        for name in column:
            node = graph.nodes[name]
            node.y = y + node.height / 2
            y += node.height + _APART
    return _lefts(graph, columns)[-1] - _ACROSS + 2


def _edge(graph: Graph, way: Sequence[str], words: str, left: Sequence[float]) -> str:
    nodes = [graph.nodes[name] for name in way]
    x, y = left[nodes[0].column] + nodes[0].width, nodes[0].y
    path = f"M{x:.0f},{y:.0f}"
    for node in nodes[1:]:
        to = left[node.column]
        path += f"C{x + _ACROSS / 2:.0f},{y:.0f} {to - _ACROSS / 2:.0f},{node.y:.0f} {to:.0f},{node.y:.0f}"
        x, y = to, node.y
    start = left[nodes[0].column] + nodes[0].width
    text = f'<text x="{start + 6:.0f}" y="{nodes[0].y - 5:.0f}">{escape(words)}</text>' if words else ""
    return f'<path class="edge" d="{path}"/>{text}'


def _box(node: Node, x: float, address: str | None) -> str:
    kind = {"[[": "stored", "([": "other", "[(": "other"}.get(node.shape, "own")
    top = node.y - node.height / 2
    radius = node.height / 2 if kind == "other" else 3
    box = (
        f'<rect class="{kind}" x="{x:.0f}" y="{top:.1f}" width="{node.width:.0f}" height="{node.height:.0f}" '
        f'rx="{radius:.0f}"/>'
    )
    texts = "".join(
        f'<text class="{kind}" x="{x + 8:.0f}" y="{top + 15 + nth * _LINE:.1f}">{escape(line)}</text>'
        for nth, (kind, line) in enumerate(zip(("name", "key", "key"), node.lines, strict=False))
    )
    return f'<a href="{escape(address)}">{box}{texts}</a>' if address else f"<g>{box}{texts}</g>"
