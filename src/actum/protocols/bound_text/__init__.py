"""Texts with a grammar that are filled with values: each value is bound by the rule of its place, never spliced.

The author of a text drew its parts: the segments of a path, the fields of a form, the members of an object. A value can
not add a part, end one or move one. `part` says what a text is made of; `address`, `header`, `json_text`, `form`,
`markup` and `command` have the rules; `grammar` finds the rule by a content type or by the schema of a parameter.

Nodes of workflows, imported files, HTTP tools and operations of OpenAPI documents use these rules, and no others. Pure.

What is not covered: a grammar inside of a grammar. A value in a JSON string stays in this string; where the receiver
reads that string as a statement of its own, such as a query of GraphQL, the value is a part of the statement.
"""
