"""The launcher: holds one command in a jail, watches what the command uses up, and ends all that it started.

Run as a process of its own (`linux.LAUNCH`), by a bare interpreter (`-I -S`), with the jail in the variable
`ACTUM_JAIL`. It imports nothing of actum, and little else, since each import costs at every start.

    actum ── launcher ─┬─ the command: Landlock, seccomp, limits, a group that can't be left
                       └─ the keeper: kills that group when the launcher is gone, however it ended

The launcher is the parent of all processes in the jail, also of those whose own parent ended (a "subreaper"). It stands
outside the jail. The command runs in a fork of it: a Python script needs no second interpreter.

Sources: landlock(7), seccomp(2), prctl(2), capabilities(7), proc(5).
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

import system_calls  # type: ignore[import-not-found]  # noqa: E402 - these stand beside this file
from disk_use import PATH_CHARS_MAX, lying_in  # type: ignore[import-not-found]  # noqa: E402

sys.path.pop(0)  # nothing else is looked for there

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 8, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_RAISE = 2
SECCOMP_MODE_FILTER = 2
SECCOMP_SET_MODE_FILTER, SECCOMP_NEW_LISTENER = 1, 1 << 3
NOTIF_RECV, NOTIF_SEND, NOTIF_ADDFD = 0xC0502100, 0xC0182101, 0x40182103
NOTIF_BYTES = 80
ADDFD_SETFD = 1
SECCOMP_CONTINUE = 1
AT_FDCWD = 0xFFFFFF9C
PAGE = 4096
NOTED_MAX = 100
"""The most paths outside the jail that are noted until they are read."""
QUIET = (
    *("/dev", "/sys", "/proc/self", "/proc/thread-self", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/resolv.conf"),
    *("/etc/hosts", "/etc/gai.conf", "/etc/ssl", "/etc/ld.so.preload", "/etc/python3", "/etc/locale.alias"),
)
"""What programs look at by themselves at their start. The jail opens none of it, and nobody needs to hear of it."""
AF_INET, SOCK_STREAM, SOL_SOCKET, SCM_RIGHTS = 2, 1, 1, 1
ADDRESS_BYTES = 8
CONNECT_S = 2.0
CAP_DAC_READ_SEARCH = 2
CAP_LAST = 63
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
O_PATH = 0o10000000

READ = 1 << 0 | 1 << 2 | 1 << 3
"""Execute, read a file, list a folder."""
READ_FILE = 1 << 0 | 1 << 2
WRITE_FILE = 1 << 1
TRUNCATE = 1 << 14
DEVICE_MAKING = 1 << 6 | 1 << 9 | 1 << 11
"""Character devices, sockets and block devices are made nowhere, not even where the jail may write."""
FILE_RIGHTS = READ_FILE | WRITE_FILE | TRUNCATE | 1 << 15
FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""What each version of Landlock can hold of files; later versions hold the same as version 5."""
DEVICES_READ = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
DEVICES_WRITTEN = ("/dev/null", "/dev/zero", "/dev/full")

TICK_S = 0.015
IDLE_TICK_S = 0.1
IDLE_AFTER_S = 0.5
DISK_SHARE = 0.05
"""At most this share of the time goes into adding up what lies in the work folder."""
FDS_FREE = 64
FD_BYTES = 212_992
"""What the buffer of one socket can hold: this size counts for each descriptor that a process has beyond `FDS_FREE`."""
OPEN_FILES_MAX = 1024
OWN_UIDS = 0x60000000, 0x0FFFFFFF
"""Where root's calls have their own user ids: beginning and mask of a random number."""

Told = dict[str, "Any"]
"""The jail as `linux.py` tells it, marshalled: only numbers, texts, and lists of them."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Hold one command in its jail; the exit code is the command's own."""
    jail = marshal.loads(bytes.fromhex(os.environ.pop("ACTUM_JAIL")))  # our own parent wrote it
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != jail["parent"]:
        return 1
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    jail["uid"] = own_uid(jail["home"]) if os.getuid() == 0 else None
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    asks = ask_pair() if jail["forwarder"] or jail["outside"] else None
    command = os.fork()
    if command == 0:
        os.close(ready_read)
        os.close(go_write)
        try:
            if os.read(go_read, 1) != b".":  # the launcher ended before its keeper was there
                os._exit(1)
            hold(jail, ready_write, asks[1] if asks else None)
        except BaseException as error:  # noqa: BLE001 - whatever went wrong: nothing runs that is not held
            os.write(ready_write, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:4000])
            os._exit(1)
        os.close(ready_write)
        return run(jail["command"])
    os.close(ready_write)
    os.close(go_read)
    if asks:
        asks[1].close()
    os.setpgid(command, command)
    keep(command, (ready_read, go_write, *((asks[0].fileno(),) if asks else ())))
    os.write(go_write, b".")
    os.close(go_write)
    for fd in (0, 1, 2):
        os.close(fd)  # the reader sees the end when the command closes its own ends
    failed = b""
    while part := os.read(ready_read, 4096):
        failed += part
    watch = TreeWatch(command, jail, questions_of(asks[0], jail) if asks and not failed else None)
    report = watch.until_end() if not failed else watch.ended(b"")
    if failed:
        report["setup"] = failed.decode("utf-8", "replace")
    if not is_gone(jail["parent"]):
        _write_report(jail["report"], report)
    else:  # actum was killed: nobody else removes the folder
        sys.path.insert(0, os.path.dirname(__file__))
        from removal import remove  # type: ignore[import-not-found]  # noqa: PLC0415 - seldom needed, and costly

        remove(jail["base"])
    os._exit(0)  # nothing is left to be tidied up, and tidying costs milliseconds


def is_gone(parent: int) -> bool:
    """Whether our parent was killed. Its first thread may have ended while others of its threads still end."""
    if os.getppid() != parent:
        return True
    try:
        with open(f"/proc/{parent}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in b"ZX"
    except OSError:
        return True


def own_uid(home: str) -> int:
    """The user id of one call of root's: a new one, or the one that owns the command's own folder already."""
    owner = os.lstat(home).st_uid if home else 0
    if OWN_UIDS[0] <= owner <= OWN_UIDS[0] + OWN_UIDS[1]:
        return owner
    return OWN_UIDS[0] + (int.from_bytes(os.urandom(4), "big") & OWN_UIDS[1])


def keep(group: int, theirs: tuple[int, ...]) -> None:
    """Start the keeper: a process that kills the group when the launcher is gone, also when it was killed with -9."""
    alive, held = os.pipe()
    os.set_inheritable(held, False)
    if os.fork():
        os.close(alive)
        return  # `held` stays open for as long as the launcher lives
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(held)
        for fd in (0, 1, 2, *theirs):
            os.close(fd)
        os.read(alive, 1)
        for _ in range(100):
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.001)
    except ProcessLookupError:
        pass
    finally:
        os._exit(0)


# The jail -------------------------------------------------------------------------------------------------------------


def hold(jail: Told, open_fd: int, asks: socket | None = None) -> None:
    """Put this process into the jail, with no descriptor but the three pipes and `open_fd`.

    Args:
        jail: as `linux.py` tells it.
        open_fd: stays open.
        asks: where the launcher waits for the end that answers this process's connections; None where there are none.

    Raises:
        OSError: a layer could not be put on. Then nothing is run: nothing is held by half.
    """
    os.umask(0o077)
    work, uid, abi = jail["work"], jail["uid"], jail["abi"]
    rules = _ruleset(jail, abi)
    if uid is not None:
        _give(work, uid)
        if jail["home"] and os.lstat(jail["home"]).st_uid != uid:
            _give(jail["home"], uid)
    os.chdir(jail["cwd"])
    _limit(jail, uid)
    if uid is not None:
        _become(uid, [*jail["read"], work, sys.executable, os.path.dirname(os.__file__)])
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # not before: another user id takes it back
    _writable(jail["write"])
    os.environ.clear()
    os.environ.update(jail["environment"])
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _syscall(LANDLOCK_RESTRICT_SELF, rules, 0)
    kept = sorted({open_fd, *([asks.fileno()] if asks else ())})
    for after, before in zip([2, *kept], [*kept, 0x7FFFFFFF], strict=True):
        os.closerange(after + 1, before)
    _filter(jail, abi, own_uid=uid is not None, asks=asks)


def _ruleset(jail: Told, abi: int) -> int:
    rights = FS_RIGHTS[min(abi, 5)]
    # Files, TCP (version 4) and scopes, which are signals and abstract sockets (version 6).
    attributes = rights.to_bytes(8, "little")
    if abi >= 4:
        attributes += (3).to_bytes(8, "little")
    if abi >= 6:
        attributes += (3).to_bytes(8, "little")
    rules = _syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    own_folders = [folder for folder in (jail["work"], jail["home"]) if folder]
    allowed = [
        *((path, READ) for path in jail["read"]),
        *((path, rights & ~DEVICE_MAKING & ~(1 << 15)) for path in (*jail["write"], *own_folders)),
        *((path, READ_FILE & ~1) for path in DEVICES_READ),
        *((path, WRITE_FILE | TRUNCATE) for path in DEVICES_WRITTEN),
    ]
    own = {jail["work"], *DEVICES_READ}  # these are not checked: nobody else can write where they are
    for path, access in allowed:
        fd = os.open(path, O_PATH | os.O_CLOEXEC)
        if path not in own and os.readlink(f"/proc/self/fd/{fd}") != path:
            raise PermissionError(f"{path} is not the file or folder that was checked: a link was put in its way")
        if not os.path.isdir(path):
            access &= FILE_RIGHTS  # noqa: PLW2901
        rule = (access & rights).to_bytes(8, "little") + fd.to_bytes(4, "little")
        _syscall(LANDLOCK_ADD_RULE, rules, 1, rule, 0)
        os.close(fd)
    return rules


def _give(folder: str, uid: int) -> None:
    """The work folder becomes the user's own. Nobody else can write there yet, so no link can be put in the way."""
    os.lchown(folder, uid, uid)
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(os.path.join(path, name), uid, uid)


def _limit(jail: Told, uid: int | None) -> None:
    """The limits that the kernel counts for each process. The launcher counts those of all processes together."""
    tasks = 4 * jail["processes"] + (0 if uid is not None else _tasks_of(os.getuid()))
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, jail["disk_bytes"]),
        (resource.RLIMIT_CPU, int(jail["cpu_seconds"]) + 1),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX),
        (resource.RLIMIT_DATA, 2 * jail["memory_bytes"]),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 65_536),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901
        resource.setrlimit(kind, (most, most))


def _tasks_of(uid: int) -> int:
    """How many threads this user has now: RLIMIT_NPROC counts all of them, also those outside the jail."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


def _become(uid: int, needed: list[str]) -> None:
    """Root becomes a user of its own, who owns the work folder and nothing else, with no capability.

    Where that user could not reach what the jail may read (a Python in root's home), CAP_DAC_READ_SEARCH stays. It
    lifts the modes of files for reading, and Landlock still holds what may be read.
    """
    for capability in range(CAP_LAST):
        if capability != CAP_DAC_READ_SEARCH:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    _prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    capability = 0 if all(_reaches(path) for path in needed) else 1 << CAP_DAC_READ_SEARCH
    header = (0x20080522).to_bytes(4, "little") + bytes(4)
    data = capability.to_bytes(4, "little") * 3 + bytes(12)
    if libc.capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    if capability:
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (uid, uid, uid) or os.getgroups():
        raise PermissionError("the launcher is still root")


def _reaches(path: str) -> bool:
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _writable(folders: list[str]) -> None:
    for folder in folders:
        if not os.access(folder, os.W_OK, effective_ids=True):
            raise PermissionError(
                f"{folder} can't be written by the user that this call runs as; run actum as the owner of the folder"
            )


def _filter(jail: Told, abi: int, *, own_uid: bool, asks: socket | None = None) -> None:
    machine, has_hosts = os.uname().machine, bool(jail["forwarder"])

    def program(*, tells_opens: bool) -> tuple[bytes, object]:
        code = system_calls.program(
            machine, abi, own_uid=own_uid, pid=os.getpid(), has_hosts=has_hosts, tells_opens=tells_opens
        )
        body = ctypes.create_string_buffer(code, len(code))
        return (len(code) // 8).to_bytes(8, "little") + ctypes.addressof(body).to_bytes(8, "little"), body

    header, _kept = program(tells_opens=bool(jail["outside"]))
    if asks is None:
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header)
        return
    try:
        answers = _syscall(system_calls.SECCOMP[machine], SECCOMP_SET_MODE_FILTER, SECCOMP_NEW_LISTENER, header)
    except OSError:  # a container may have such a listener of its own, and the kernel allows one
        if has_hosts:
            raise
        header, _kept = program(tells_opens=False)
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header)
        asks.send(b"-")
    else:
        asks.sendmsg([b"."], [(SOL_SOCKET, SCM_RIGHTS, answers.to_bytes(4, sys.byteorder))])
        os.close(answers)  # the process that holds this end answers for itself
    asks.close()


def run(command: list[str]) -> int:
    """Run the command, in the jail. A Python script runs in this very interpreter."""
    for sign in (signal.SIGTERM, signal.SIGPIPE):
        signal.signal(sign, signal.SIG_DFL)
    if command[0] != sys.executable or len(command) < 2 or command[1].startswith("-"):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            os.execvpe(command[0], command, os.environ)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            os._exit(127 if error.errno == errno.ENOENT else 126)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    import site  # noqa: PLC0415 - in the jail: what a `.pth` file starts is held too

    script = command[1]
    sys.argv = command[1:]
    site.main()
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    module = type(sys)("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    try:
        with open(script, "rb") as file:
            code = file.read()
        exec(compile(code, script, "exec"), module.__dict__)  # noqa: S102 - that is what a launcher is for
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - as the interpreter itself does
        trace = error.__traceback__
        error = error.with_traceback(trace.tb_next if trace else None)  # without the launcher's own line
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


# What the kernel asks ------------------------------------------------------------------------------------------------


def ask_pair() -> tuple[socket, socket]:
    """Two ends over which the command hands the launcher the end that answers the kernel."""
    import _socket  # noqa: PLC0415 - only where hosts are allowed

    return _socket.socketpair(1, SOCK_STREAM)


def questions_of(asks: socket, jail: Told) -> KernelQuestions | None:
    """What answers the kernel for the command; None where the kernel tells nothing, which is noted."""
    _, sent, *_ = asks.recvmsg(1, 64)
    asks.close()
    if sent:
        return KernelQuestions(int.from_bytes(sent[0][2][:4], sys.byteorder), jail)
    os.close(os.open(jail["unseen"], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    return None


class KernelQuestions:
    """Answers what the kernel asks of the system calls in the jail, which are held until they are answered.

    `connect`: makes the connection to the forwarder itself, and refuses every other. `open` and its kin: notes the path
    if it exists and lies outside the jail, and lets the kernel decide.

    A new socket that is connected to the forwarder takes the place of
    the command's socket, so nothing that the command set on its socket, and nothing that it writes into its memory
    meanwhile, leads anywhere else.

    Args:
        answers: the end that answers the kernel.
        jail: as `linux.py` tells it.
    """

    def __init__(self, answers: int, jail: Told) -> None:
        import _socket  # noqa: PLC0415 - only where hosts are allowed
        import select  # noqa: PLC0415

        self._sockets: Any = _socket
        self._answers = answers
        self._forwarder: int = jail["forwarder"]
        self._outside: str = jail["outside"]
        self._around: str = jail["around"]
        self._system = (*jail["system"], *QUIET)
        self._inside = tuple(path for path in (jail["work"], jail["home"], *jail["read"], *jail["write"]) if path)
        self._noted: set[str] = set()
        self._numbers = system_calls.NUMBERS[os.uname().machine]
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)

    def answer(self, seconds: float) -> None:
        """Answer what is asked within this number of seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            found = self._poll.poll(left * 1000)
            if not found:
                return
            if not found[0][1] & 1:  # nobody is left who could ask
                time.sleep(max(0.0, until - time.monotonic()))
                return
            self._answer_one()

    def _answer_one(self) -> None:
        asked = ctypes.create_string_buffer(NOTIF_BYTES)
        if libc.ioctl(self._answers, ctypes.c_ulong(NOTIF_RECV), asked) != 0:
            return  # the process that asked has ended
        notice, pid = asked.raw[:8], int.from_bytes(asked.raw[8:12], "little")
        arguments = [int.from_bytes(asked.raw[at : at + 8], "little") for at in range(32, 56, 8)]
        number = int.from_bytes(asked.raw[16:20], "little")
        if number != self._numbers["connect"]:
            try:  # noqa: SIM105 - an import of contextlib costs at each start
                self._note(pid, number == self._numbers["openat"], arguments)
            except (OSError, ValueError):
                pass  # the process that asked has ended, or may not be looked at
            go_on = SECCOMP_CONTINUE.to_bytes(4, "little")
            libc.ioctl(self._answers, ctypes.c_ulong(NOTIF_SEND), notice + bytes(12) + go_on)
            return
        try:
            failed = self._connect(notice, pid, arguments[0] & 0xFFFFFFFF, arguments[1])
        except OSError as error:
            failed = error.errno or errno.EACCES
        answer = notice + bytes(8) + (-failed).to_bytes(4, "little", signed=True) + bytes(4)
        libc.ioctl(self._answers, ctypes.c_ulong(NOTIF_SEND), answer)

    def _note(self, pid: int, is_relative: bool, arguments: list[int]) -> None:
        """Note a path that is opened, if it exists and lies outside the jail."""
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            path = os.fsdecode(_text_at(memory.fileno(), arguments[1] if is_relative else arguments[0]))
        if not path.startswith("/"):
            folder = arguments[0] & 0xFFFFFFFF
            place = f"fd/{folder}" if is_relative and folder != AT_FDCWD else "cwd"
            path = os.path.join(os.readlink(f"/proc/{pid}/{place}"), path)
        path = os.path.normpath(path)
        if _is_below(path, self._system) or path.startswith(f"/proc/{pid}/"):
            return
        path = os.path.realpath(path)  # a link may lead out of a folder
        if _is_below(path, self._inside) or _is_below(path, self._system) or not os.path.lexists(path):
            return
        if not os.path.lexists(self._outside):  # what was noted was read: from here on all is noted again
            self._noted.clear()
        if path in self._noted or len(self._noted) >= NOTED_MAX:
            return
        self._noted.add(path)
        fd = os.open(self._outside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, os.fsencode(path) + b"\0")
        finally:
            os.close(fd)

    def _connect(self, notice: bytes, pid: int, fd: int, address: int) -> int:
        """Connect a socket of the command; the error that the command is told, 0 for none."""
        wanted = AF_INET.to_bytes(2, sys.byteorder) + self._forwarder.to_bytes(2, "big") + bytes((127, 0, 0, 1))
        try:
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                if os.pread(memory.fileno(), ADDRESS_BYTES, address) != wanted:
                    return self._refused()
        except PermissionError:
            pass  # no debugger is allowed here: the command gets the forwarder, whatever address it asked for
        with open(f"/proc/{pid}/fdinfo/{fd}", "rb") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith(b"flags:"))
        made = self._sockets.socket(AF_INET, SOCK_STREAM)
        try:
            made.settimeout(CONNECT_S)
            made.connect(("127.0.0.1", self._forwarder))
            os.set_blocking(made.fileno(), not flags & os.O_NONBLOCK)
            place = ADDFD_SETFD.to_bytes(4, "little") + made.fileno().to_bytes(4, "little") + fd.to_bytes(4, "little")
            given = notice + place + (flags & os.O_CLOEXEC).to_bytes(4, "little")
            if libc.ioctl(self._answers, ctypes.c_ulong(NOTIF_ADDFD), given) < 0:
                return ctypes.get_errno()
        finally:
            made.close()
        return 0

    def _refused(self) -> int:
        """Note that the command went around the proxy; the error that the command is told."""
        try:  # noqa: SIM105 - an import of contextlib costs at each start
            os.close(os.open(self._around, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError:
            pass  # the disk is full: the connection is refused all the same
        return errno.EACCES


def _text_at(memory: int, address: int) -> bytes:
    """The text at an address of a process, which ends with a zero byte."""
    found = b""
    while b"\0" not in found and len(found) < PATH_CHARS_MAX:
        page_end = PAGE - (address + len(found)) % PAGE
        found += os.pread(memory, min(page_end, 256), address + len(found))
    return found.partition(b"\0")[0]


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


# What the jail uses up ------------------------------------------------------------------------------------------------


class TreeWatch:
    """Counts what all processes of a jail use together, and ends them where that is more than they may."""

    def __init__(self, command: int, jail: Told, questions: KernelQuestions | None = None) -> None:
        self.command = command
        self.jail = jail
        self.questions = questions
        self.stop = False
        self.cpu_of: dict[tuple[int, str], float] = {}
        self.peak = 0
        self.disk = 0
        self.disk_next = 0.0
        self.tick = os.sysconf("SC_CLK_TCK")
        self.page = os.sysconf("SC_PAGESIZE")
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.stop = True

    def until_end(self) -> dict[str, Any]:
        """TreeWatch until the command has ended or was ended."""
        began, used_before, limit = time.monotonic(), -1.0, ""
        still_since = began
        while not self.stop and not limit:
            if os.waitid(os.P_PID, self.command, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            limit = self.look() or ("seconds" if time.monotonic() - began > self.jail["seconds"] else "")
            now, used = time.monotonic(), self.cpu()
            if used != used_before:
                used_before, still_since = used, now
            pause = IDLE_TICK_S if now - still_since > IDLE_AFTER_S else TICK_S
            if self.questions is None:
                time.sleep(pause)
            else:
                self.questions.answer(pause)
        return self.ended(limit.encode())

    def ended(self, limit: bytes) -> dict[str, Any]:
        """End the group and say how the command ended."""
        status = None
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                os.killpg(self.command, signal.SIGKILL)
            except ProcessLookupError:
                break
            except PermissionError:
                pass
            try:
                while (found := os.waitpid(-1, os.WNOHANG))[0]:
                    if found[0] == self.command:
                        status = found[1]
            except ChildProcessError:
                break
            time.sleep(0.001)
        report = {
            "limit": limit.decode(),
            "stopped": self.stop,
            "cpu_seconds": round(self.cpu(), 3),
            "memory_bytes": self.peak,
            "exit": None,
        }
        if status is not None:
            report["exit"] = os.waitstatus_to_exitcode(status)
        if not limit and report["exit"] == -signal.SIGXCPU:
            report["limit"] = "cpu_seconds"
        if not limit and report["exit"] == -signal.SIGXFSZ:
            report["limit"] = "disk_bytes"
        # A program may end by itself before the next look, or after an error in writing (EFBIG).
        ended_by_itself = not report["limit"] and not self.stop and report["exit"] is not None
        if ended_by_itself and self._lying() > self.jail["disk_bytes"]:
            report["limit"] = "disk_bytes"
        return report

    def look(self) -> str:
        """Which limit is passed now; empty for none."""
        pids = self.below()
        if len(pids) > self.jail["processes"]:
            return "processes"
        memory = held_on_disk = 0
        for pid in pids:
            rss, unlinked = self._used(pid)
            memory += rss
            held_on_disk += unlinked
        if memory > self.jail["memory_bytes"]:  # pages that processes share were counted for each of them
            memory = sum(self._proportional(pid) for pid in pids)
        self.peak = max(self.peak, memory)
        if memory > self.jail["memory_bytes"]:
            return "memory_bytes"
        if self.cpu() > self.jail["cpu_seconds"]:
            return "cpu_seconds"
        now = time.monotonic()
        if now >= self.disk_next:
            self.disk = self._lying()
            self.disk_next = time.monotonic() + (time.monotonic() - now) / DISK_SHARE
        return "disk_bytes" if self.disk + held_on_disk > self.jail["disk_bytes"] else ""

    def _lying(self) -> int:
        return sum(lying_in(folder) for folder in (self.jail["work"], self.jail["home"]) if folder)

    def cpu(self) -> float:
        """Seconds of CPU: what was seen of each process, or what the kernel added up for those that were waited for."""
        kernel = os.times()
        return max(sum(self.cpu_of.values()), kernel.children_user + kernel.children_system)

    def below(self) -> list[int]:
        """All processes of the jail: those below the command, and those that lost their parent and fell to us."""
        found: list[int] = []
        above = [os.getpid()]
        while above:
            pid = above.pop()
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            for task in tasks:
                try:
                    with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                        children = [int(child) for child in file.read().split()]
                except OSError:
                    continue
                found += children
                above += children
        return [pid for pid in found if self._is_held(pid)]

    def _is_held(self, pid: int) -> bool:
        """Whether a process belongs to the jail (the keeper does not), and what CPU it used."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return False
        if int(fields[2]) != self.command:
            return False
        self.cpu_of[pid, fields[19].decode()] = (int(fields[11]) + int(fields[12])) / self.tick
        return fields[0] not in b"ZX"

    def _used(self, pid: int) -> tuple[int, int]:
        """Bytes of memory, and bytes on the disk in open files that have no name any more."""
        memory = unlinked = 0
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                memory = int(file.read().split()[1]) * self.page
            fds = os.listdir(f"/proc/{pid}/fd")
            memory += max(0, len(fds) - FDS_FREE) * FD_BYTES
        except OSError:
            return memory, 0
        for fd in fds:
            try:
                found = os.stat(f"/proc/{pid}/fd/{fd}")
            except OSError:
                continue
            if found.st_nlink == 0:
                unlinked += found.st_blocks * 512
        return memory, unlinked

    def _proportional(self, pid: int) -> int:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                memory = sum(int(line.split()[1]) * 1024 for line in file if line.startswith((b"Pss:", b"SwapPss:")))
            return memory + max(0, len(os.listdir(f"/proc/{pid}/fd")) - FDS_FREE) * FD_BYTES
        except OSError:
            return 0


def _write_report(path: str, report: dict[str, Any]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, marshal.dumps(report))
    finally:
        os.close(fd)


# The kernel -----------------------------------------------------------------------------------------------------------


def _prctl(option: int, *arguments: int | bytes) -> None:
    given = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    given += [ctypes.c_ulong(0)] * (4 - len(given))
    if libc.prctl(option, *given) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def _syscall(number: int, *arguments: int | bytes) -> int:
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    done: int = libc.syscall(ctypes.c_long(number), *given)
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return done
