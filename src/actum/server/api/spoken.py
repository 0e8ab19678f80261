"""`SpokenWords`: what models are saying in the runs that this process carries out, until a reply is on record.

The words are on no record and never take the place of an entry. Who joins late first gets the words so far. Words
of a reply are told behind the entries that were written before it: see `WordsListener`.
"""

from __future__ import annotations

from ...core.event import Event, ReplyFinished, TextDelta, ThoughtEnded
from ...journal.watch import WatchListener


class WordsListener:
    """The words of one run that one reader has not taken yet.

    When a reply ends, its words are dropped, since the entry of the reply says all of them. The words of the next reply
    wait until the reader has been told that entry: it was written before, so the next look into the journal finds it.

    Args:
        entries: the reader, of the entries of the run.
        said: what was said of the reply so far.
    """

    def __init__(self, entries: WatchListener, said: str) -> None:
        self._entries = entries
        self._pieces = [said] if said else []
        self._is_anew = True
        self._is_told = False
        self._look = entries.next_look()

    def say(self, text: str) -> None:
        """More words."""
        self._pieces.append(text)
        self._entries.wake()

    def unsay(self) -> None:
        """The words so far were none of the answer."""
        self._pieces.clear()
        self._is_anew = True
        self._entries.wake()

    def turn(self) -> None:
        """A reply has ended, or the run is begun or left."""
        self._pieces.clear()
        self._is_anew, self._is_told = True, False
        self._look = self._entries.next_look()

    def take(self) -> tuple[str, bool] | None:
        """The words that the reader has not taken yet, and whether the reply begins anew with them; None for none."""
        is_due = bool(self._pieces) or (self._is_anew and self._is_told)
        if not is_due or self._entries.looked < self._look:
            return None
        taken = "".join(self._pieces), self._is_anew
        self._pieces.clear()
        self._is_told, self._is_anew = bool(taken[0]) or not taken[1], False
        return taken


class SpokenWords:
    """What is said in the runs that are under way here."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}
        self._listeners: dict[str, set[WordsListener]] = {}

    def begin(self, run_id: str) -> None:
        """This process carries out a run from now on."""
        self._said[run_id] = []
        self._turn(run_id)

    def hear(self, run_id: str, event: Event) -> None:
        """Take in an event of a run."""
        match event:
            case TextDelta(text) if text:
                self._said[run_id].append(text)
                for each in self._listeners.get(run_id, ()):
                    each.say(text)
            case ThoughtEnded():
                self._said[run_id].clear()
                for each in self._listeners.get(run_id, ()):
                    each.unsay()
            case ReplyFinished():
                self._said[run_id].clear()
                self._turn(run_id)
            case _:
                pass

    def end(self, run_id: str) -> None:
        """This process carries out a run no longer."""
        self._said.pop(run_id, None)
        self._turn(run_id)

    def _turn(self, run_id: str) -> None:
        for each in self._listeners.get(run_id, ()):
            each.turn()

    def listen(self, run_id: str, entries: WatchListener) -> WordsListener:
        """Begin to listen to a run, which may be carried out here only later. `leave` ends it.

        Args:
            run_id: the run.
            entries: the reader of the entries of the run.
        """
        listener = WordsListener(entries, "".join(self._said.get(run_id, ())))
        self._listeners.setdefault(run_id, set()).add(listener)
        return listener

    def leave(self, run_id: str, listener: WordsListener) -> None:
        """Listen no longer."""
        known = self._listeners[run_id]
        known.discard(listener)
        if not known:
            del self._listeners[run_id]
