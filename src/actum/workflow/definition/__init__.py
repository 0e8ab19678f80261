"""A workflow's definition as values: text, settings, expressions, graph, and the pure scheduler over them."""
