"""Our own HTTP API: tools, runs, approvals, sessions and the audit, as JSON under `/v1`.

`table` lists the operations. The routes of `door` and the document of `document` are both made from that table. Import
`actum.server.api.door` only where a server is to run: it loads a web framework.
"""
