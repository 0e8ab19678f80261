"""A2A: the agents of this server, served to other agents in every version of the protocol.

states.py     how a run stands, in the words of A2A; pure
fold.py       a task and its events, as a fold of the entries of its run; pure
answers.py    what a message says to a task that waits; pure
wire.py       values of A2A and the messages of the official SDK, both ways; pure
handler.py    `RunHandler`: every method of the protocol over runs
follow.py     tasks as they go on: live in this process, and by the journal in any process
failures.py   what a caller is told of an error; pure
reading.py    JSON that was sent by strangers
jsonrpc.py    JSON-RPC of 1.0 and 0.3
rest.py       HTTP+JSON of 1.0 and 0.3
original.py   the protocol of April 2025
card.py       agent cards
signing.py    the key that signs cards and pushed news
push.py       news that are pushed to addresses
grpc_server.py  gRPC of 1.0 and 0.3
door.py       `A2ARoutes`: all of it as a door of a server

A task is a run, and a context is a conversation. Nothing is kept beside the journal but the addresses for pushed news.
This room loads the official SDK, which takes more than a second: import it only where a server is to run.
"""
