"""Agents behind the model APIs: a request for an agent's name becomes a run, and the run becomes an answer.

turn.py       what a request says: words, results of calls, approvals; pure
ids.py        the ids that clients are told, and what they stand for; pure
history.py    how a conversation is known again that a client sends back; pure
answer.py     the answer, as a fold of what happens in a run; pure
writers.py    the answer in the words of each API, whole and streamed; pure
placing.py    which run a request begins, goes on with, or joins
executor.py   carries it out
stored.py     `GET`, `DELETE`, `cancel` and `input_items` of the Responses API
assistants.py `/v1/assistants` and `/v1/threads` of the Assistants API
assistant_view.py  runs, steps, messages and events of the Assistants API; pure
"""
