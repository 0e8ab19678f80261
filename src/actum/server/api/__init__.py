"""Our own HTTP API: tools, runs, approvals, sessions and the audit, as JSON under `/v1`.

`operations` lists the operations, which stand with their bodies and handlers in a room for each subject. The routes of
`door` and the document of `document` are both made from that list. Operations know no web framework. Import
`actum.server.api.routes` only where a server is to run: it loads a web framework.
"""
