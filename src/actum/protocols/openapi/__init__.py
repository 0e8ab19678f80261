"""API documents (OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0) as operations, and operations as requests. Pure.

`text` reads JSON and YAML safely, `references` follows `$ref`, `schema` makes small JSON Schemas, `reading` makes an
`ApiDocument` of a document, `request` builds an HTTP request out of arguments. Nothing here opens a file or a
connection.

What is not covered: XML bodies (refused with a reason), callbacks, webhooks and links (counted in
`ApiDocument.not_covered`).
"""
