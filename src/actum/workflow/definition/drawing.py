"""A workflow as a picture: Mermaid, DOT, or SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .graph import Definition, Graph, GraphNode
from .nodes import OUT

WIDTH, HEIGHT, GAP = 150, 40, 40
MARGIN = 20


def mermaid(definition: Definition) -> str:
    """The workflow in the language of Mermaid, as Markdown pages show it."""
    return "\n".join(["flowchart TD", *_mermaid(definition.graph, "", "  ")]) + "\n"


def _mermaid(graph: Graph, prefix: str, indent: str) -> Iterator[str]:
    for name, node in graph.nodes.items():
        if node.body is not None:
            yield f'{indent}subgraph {prefix}{name}["{_label(node)}"]'
            yield from _mermaid(node.body, f"{prefix}{name}__", indent + "  ")
            yield f"{indent}end"
        else:
            opening, closing = ("{", "}") if len(node.ports) > 1 else ("[", "]")
            yield f'{indent}{prefix}{name}{opening}"{_label(node)}"{closing}'
    for edge in graph.edges:
        port = "" if edge.port == OUT else f"|{_plain(edge.port)}|"
        yield f"{indent}{prefix}{edge.source} -->{port} {prefix}{edge.target}"


def dot(definition: Definition) -> str:
    """The workflow in the language of Graphviz."""
    return "\n".join([f"digraph {definition.name.replace('-', '_')} {{", *_dot(definition.graph, "", "  "), "}"]) + "\n"


def _dot(graph: Graph, prefix: str, indent: str) -> Iterator[str]:
    for name, node in graph.nodes.items():
        yield f'{indent}"{prefix}{name}" [shape=box, label="{_label(node)}"];'
        if node.body is not None:
            yield f'{indent}subgraph "cluster_{prefix}{name}" {{ label="{name}";'
            yield from _dot(node.body, f"{prefix}{name}/", indent + "  ")
            yield f"{indent}}}"
    for edge in graph.edges:
        label = "" if edge.port == OUT else f' [label="{_plain(edge.port)}"]'
        yield f'{indent}"{prefix}{edge.source}" -> "{prefix}{edge.target}"{label};'


def svg(definition: Definition) -> str:
    """The workflow as an SVG picture: the nodes of the outermost graph, in layers."""
    graph = definition.graph
    layers = _layers(graph)
    rows: dict[int, int] = {}
    places: dict[str, tuple[int, int]] = {}
    for name in graph.ranks:
        layer = layers[name]
        column = rows.get(layer, 0)
        rows[layer] = column + 1
        places[name] = (MARGIN + column * (WIDTH + GAP), MARGIN + layer * (HEIGHT + GAP))
    width = MARGIN * 2 + max(rows.values(), default=1) * (WIDTH + GAP) - GAP
    height = MARGIN * 2 + (max(rows, default=0) + 1) * (HEIGHT + GAP) - GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">']
    for edge in graph.edges:
        (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
        begin, end = (x1 + WIDTH // 2, y1 + HEIGHT), (x2 + WIDTH // 2, y2)
        parts.append(f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#888"/>')
        if edge.port != OUT:
            x, y = (begin[0] + end[0]) // 2, (begin[1] + end[1]) // 2
            parts.append(f'<text x="{x}" y="{y}" font-size="11" fill="#666">{escape(edge.port)}</text>')
    for name, (x, y) in places.items():
        node = graph.nodes[name]
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff" stroke="#333"/>')
        parts.append(f'<text x="{x + 8}" y="{y + 17}" font-size="13">{escape(name[:20])}</text>')
        parts.append(f'<text x="{x + 8}" y="{y + 33}" font-size="11" fill="#666">{escape(node.type.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _layers(graph: Graph) -> dict[str, int]:
    """How many edges lead to each node, on the longest way."""
    layers = dict.fromkeys(graph.nodes, 0)
    for name in graph.ranks:
        for edge in graph.behind[name]:
            layers[edge.target] = max(layers[edge.target], layers[name] + 1)
    return layers


def _label(node: GraphNode) -> str:
    return _plain(f"{node.settings.title or node.name}: {node.type.name}")


def _plain(text: str) -> str:
    """A text without signs that mean something in a picture."""
    return "".join(sign if sign.isalnum() or sign in " _-:.," else " " for sign in text)
