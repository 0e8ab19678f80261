"""The models door: clients of the model APIs of OpenAI, Anthropic and Google are answered here.

A client changes its base URL and its key, and nothing else. The name of the model in a request decides who answers:

- *Passing through*: the name is that of a model behind this server (`passing.py`). The request goes on to an upstream,
  and the client makes the calls of tools itself.
- *Executing here*: the name is that of an agent of this server. The agent's tools run on the call path (`Executor`).

Where to start reading: `surface.py` is the table of APIs, `request.py` what a request says, `names.py` what a model's
name means, `route_group.py` the door itself.

This is not the MCP gateway, which is in `server/mcp/gateway`.
"""
