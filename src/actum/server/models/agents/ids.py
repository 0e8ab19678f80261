"""The ids that clients of model APIs are told, and what they stand for. Pure.

Every id names the run, so that the next request finds the run without an index. A run's id is 80 random bits that
nobody can guess, and a caller who shows an id still has to be the owner of the run: see `placing`.

    call_<run>_<question>       a call that the client is to make; `toolu_` for clients of Anthropic
    mcp_<run>_<entry>_<index>   a call that was made here; `mcptoolu_` for clients of Anthropic
    mcpr_<run>_<question>       a call that waits for a person
    resp_<run>_<entry>          an answer: what the run did from this entry on; with `t` at its end, not stored
    msg_<run>_<entry>_<place>   an item of this answer; `fc_` for a call of the client, `msg_in_` for what was asked
"""

from __future__ import annotations

import re

from msgspec import Struct

from ....journal.recording import CallRef

_HEX = "[0-9a-f]{20,32}"
_CALL = re.compile(rf"(?:call|toolu)_({_HEX})_({_HEX})")
_SERVER_CALL = re.compile(rf"(?:mcp|mcptoolu)_({_HEX})_(\d{{1,9}})_(\d{{1,9}})")
_APPROVAL = re.compile(rf"mcpr_({_HEX})_({_HEX})")
_ANSWER = re.compile(rf"(?:resp|msg)_({_HEX})_(\d{{1,9}})(t?)")
_ITEM = re.compile(rf"(?:fc|ig|in|msg|msg_in|rs)_({_HEX})_(\d{{1,9}})(t?)_\d{{1,9}}")
_RUN = re.compile(rf"run_({_HEX})")


class AskRef(Struct, frozen=True):
    """Something that a run waits for.

    Attributes:
        run_id: the run.
        ask_id: what the answer is given under.
    """

    run_id: str
    ask_id: str


class AnswerRef(Struct, frozen=True):
    """An answer: what a run did from one entry on.

    Attributes:
        run_id: the run.
        begins: the number of the first entry that belongs to the answer.
        is_stored: whether the answer can be asked for again.
    """

    run_id: str
    begins: int = 0
    is_stored: bool = True

    @property
    def tail(self) -> str:
        """The id without the word in front."""
        return f"{_hex(self.run_id)}_{self.begins}{'' if self.is_stored else 't'}"


def call_id(run_id: str, ask_id: str, prefix: str = "call") -> str:
    """The id of a call that a client is to make.

    >>> call_id("run_" + 20 * "a", "ask_" + 20 * "b")
    'call_aaaaaaaaaaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbb'
    """
    return f"{prefix}_{_hex(run_id)}_{_hex(ask_id)}"


def server_call_id(run_id: str, place: str, prefix: str = "mcp") -> str:
    """The id of a call that was made here; `place` as in `CallRef.name`."""
    return f"{prefix}_{_hex(run_id)}_{place.replace('.', '_')}"


def approval_id(run_id: str, ask_id: str) -> str:
    """The id under which a client of the Responses API is asked for an approval."""
    return f"mcpr_{_hex(run_id)}_{_hex(ask_id)}"


def read_call_id(text: str) -> AskRef | None:
    """What the id of a call stands for; None where it is not made here."""
    return _ask(_CALL, text)


def read_approval_id(text: str) -> AskRef | None:
    """What the id of an approval stands for; None where it is not made here."""
    return _ask(_APPROVAL, text)


def read_server_call_id(text: str) -> tuple[str, CallRef] | None:
    """The run of a call that was made here, and which call of the run; None where the id is not made here."""
    found = _SERVER_CALL.fullmatch(text)
    return (f"run_{found[1]}", CallRef(int(found[2]), int(found[3]))) if found is not None else None


def read_item_id(text: str) -> AnswerRef | None:
    """The answer that an item of the Responses API belongs to; None where the id is not made here."""
    found = _ITEM.fullmatch(text)
    return AnswerRef(f"run_{found[1]}", int(found[2]), not found[3]) if found is not None else None


def read_answer_id(text: str) -> AnswerRef | None:
    """What the id of an answer stands for; None where it is not made here."""
    found = _ANSWER.fullmatch(text)
    return AnswerRef(f"run_{found[1]}", int(found[2]), not found[3]) if found is not None else None


def is_named_run(text: str) -> bool:
    """Whether a text can be the id of a run that this door began."""
    return _RUN.fullmatch(text) is not None


def _ask(form: re.Pattern[str], text: str) -> AskRef | None:
    found = form.fullmatch(text)
    return AskRef(f"run_{found[1]}", f"ask_{found[2]}") if found is not None else None


def _hex(id_: str) -> str:
    return id_.partition("_")[2]
