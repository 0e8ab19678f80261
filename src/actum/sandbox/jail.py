"""`Jail`: what a command may read, write, find in its environment and use up. Plain data; a backend holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from ..core.errors import UsageError
from ..core.process.process_limits import ProcessLimits
from ..core.secrets.private_paths import private_paths
from ..transport.egress import AddressRule, opening_rule


class JailLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all processes of a jail may use up together.

    Attributes:
        memory_bytes: memory that is in use at a moment.
        cpu_seconds: seconds of CPU.
        processes: processes at a moment.
        disk_bytes: what lies in the work folder, and the size of any one file.
        seconds: time on the clock.
    """

    memory_bytes: int = 512 * 1024 * 1024
    cpu_seconds: float = 60.0
    processes: int = 64
    disk_bytes: int = 256 * 1024 * 1024
    seconds: float = 120.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise UsageError(
                    "JailLimits({name}={given!r}): give a number above 0", name=name, given=getattr(self, name)
                )

    def lowered(self, to: ProcessLimits) -> JailLimits:
        """These limits, each no higher than the one that an operator set for the call."""
        return structs.replace(self, **{name: min(getattr(self, name), most) for name, most in to.given.items()})


class Jail(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one command may do. It always has a work folder of its own, which it may write.

    The command has no network, but for the hosts that are named. It reaches these through an HTTP proxy alone, which it
    finds in its environment (`forwarder.py`).

    Attributes:
        read: files and folders that the command may read, beside the system's programs and the Python that runs it.
        write: folders that the command may write. They are outside the work folder and stay as the command leaves them.
        hosts: hosts that the command may reach by HTTP, written as in `allow` of `[egress]`: `api.example.com` is https
            at its usual port. The egress rules hold, too.
        home: a folder of the command's own, which stays: its HOME, made where it is missing. Empty for the work folder.
        environment: the variables that the command finds, beside HOME, LANG, PATH and TMPDIR.
        audit: files outside the jail that the command tries to open are noted; see `JailedProcess.opened_outside`.
        limits: what all its processes may use up together.
        backend: what holds the jail: the name under which an installed package offers it (`backend.py`). Empty for what
            comes with actum.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    home: str = ""
    environment: dict[str, str] = {}
    audit: bool = False
    limits: JailLimits = JailLimits()
    backend: str = ""

    def __post_init__(self) -> None:
        for path in (*self.read, *self.write, *((self.home,) if self.home else ())):
            if not Path(path).is_absolute():
                raise UsageError("Jail: {path!r} is not an absolute path", path=path)
        host_rules(self.hosts)

    def lowered(self, to: ProcessLimits) -> Jail:
        """This jail, with no limit higher than the one that an operator set for the call."""
        return structs.replace(self, limits=self.limits.lowered(to)) if to.given else self

    @property
    def changes_nothing_outside(self) -> bool:
        """Whatever the command does ends with its work folder."""
        return not self.write and not self.home and not self.hosts

    def checked(self, found: tuple[str, ...] = ()) -> Jail:
        """This jail with paths that lead through no link, which reach nothing that is private to this process.

        Each path is resolved once, and the path that was judged is the path that is handed on. A backend opens these
        paths as they stand, and sees to it that no link was put in their way since.

        Args:
            found: what the command may read beside `read`: the programs and libraries of the system.

        Raises:
            UsageError: a folder does not exist, or the command could reach the journal, a secret or a key of this
                process (`core.secrets.private_paths`). The message says what to change.
        """
        own = (self.home,) if self.home else ()
        private = real_private_paths()
        above = {folder: real for real in private for folder in real.parents}
        real_paths: dict[str, list[str]] = {}
        for name, paths in (("read", self.read), ("write", self.write), ("home", own), ("system", found)):
            for given in paths:
                path = Path(given).resolve()
                if not path.exists() or (name in ("write", "home") and not path.is_dir()):
                    what = "file" if name == "read" else "folder"
                    raise UsageError(
                        "Jail({name}=...): there is no {what} {given}: make it, or take it out of the jail",
                        name=name,
                        what=what,
                        given=given,
                    )
                real = path if path in private else above.get(path)
                if real is None:
                    real = next((folder for folder in path.parents if folder in private), None)
                if real is not None:
                    raise UsageError(_private(name, given, private.get(real, real)))
                real_paths.setdefault(name, []).append(str(path))
        read, write = (tuple(dict.fromkeys(real_paths.get(name, ()))) for name in ("read", "write"))
        return structs.replace(self, read=read, write=write, home="".join(real_paths.get("home", ())))


def host_rules(hosts: Sequence[str]) -> tuple[AddressRule, ...]:
    """The hosts of a jail, read as entries of `allow` in `[egress]`.

    Raises:
        UsageError: an entry can not be read.
    """
    try:
        return tuple(opening_rule(text) for text in hosts)
    except ValueError as error:
        raise UsageError("Jail(hosts=...): {why}", why=str(error).removeprefix("allow: ")) from None


def real_private_paths() -> dict[Path, Path]:
    """The files and folders that no jail of this process may reach, each by its path without links.

    A process that has opened many journals has thousands of them: each folder is looked at once.
    """
    folders: dict[Path, Path] = {}
    found: dict[Path, Path] = {}
    for private in private_paths():
        folder = private.parent
        if folder not in folders:
            folders[folder] = folder.resolve()
        real = folders[folder] / private.name
        found[real.resolve() if real.is_symlink() else real] = private
    return found


def _private(name: str, given: str, private: Path) -> str:
    if name == "system":
        return f"{private} is private, and each command in a jail may read {given}; move {private} elsewhere"
    return f"Jail({name}=...): {given} holds {private}, which is private to actum; name a narrower folder"
