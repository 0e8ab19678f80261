"""A run as an older version began it: texts of requests were put together without regard to their grammar.

`spliced.db` was recorded with this definition by the version before values were bound: one request is done, and one
waits for a person.
"""

VALUE = 'hi","x":"a/b&c=1'
DEFINITION = """\
actum: workflow/1
name: spliced
inputs: {type: object, required: [v], properties: {v: {type: string}}}
nodes:
  read: {type: http, url: "http://127.0.0.1:PORT/r/${inputs.v}?q=${inputs.v}", headers: {x-note: "for ${inputs.v}"}}
  send:
    type: http
    method: POST
    url: "http://127.0.0.1:PORT/r"
    headers: {content-type: application/json}
    body: '{"note": "${inputs.v}"}'
    on_error: branch
  told: {type: say, text: "${send.error.code}"}
edges: [read > send, send.error > told]
"""
