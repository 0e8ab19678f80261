"""The seccomp filter of a jail: which system calls it denies, and the program (BPF) that says so to the kernel.

A table for each machine gives the numbers; one list of rules serves all. Calls that are newer than this list answer
ENOSYS, as an older kernel would. A pure function of its arguments; the launcher imports it, so it imports nothing.

Why a rule stands here is said beside it. Landlock holds files, so the rules here hold what Landlock does not know:
sockets, the modes and owners of files, other processes, memory that is counted nowhere, and what stays behind.

Sources: seccomp(2), the kernel's `syscall_64.tbl` and `asm-generic/unistd.h`.
"""

from __future__ import annotations

EPERM, EACCES, ENOSYS = 1, 13, 38
ALLOW, ERRNO, KILL, NOTIFY = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
NOTHING_DONE = 0
"""The answer of a call that was skipped and says that it worked."""
NEWER = 424
"""From this number on the numbers are the same on all machines, and only those of `NEWER_ALLOWED` are let through."""
NEWER_ALLOWED = (434, 436, 439, 441, 449)
"""pidfd_open, close_range, faccessat2, epoll_pwait2, futex_waitv."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000
SECCOMP = {"x86_64": 317, "aarch64": 277}
"""The number of seccomp itself, by which the launcher gets the end that answers what is notified."""

# What asks of the kernel more than a script needs; what can be counted nowhere; what stays behind.
DENIED = {
    "x86_64": (
        *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
        *(41, 42, 49, 50, 43, 288, 307),  # socket, connect, bind, listen, accept, accept4, sendmmsg
        *(165, 166, 155, 161, 308, 272),  # mount, umount2, pivot_root, chroot, setns, unshare
        *(167, 168, 169, 170, 171, 164, 227, 159, 305, 163, 179, 103, 153),  # the machine: swap, names, clocks, ...
        *(246, 320, 175, 313, 176, 321, 298, 323, 250, 248, 249),  # kexec, modules, bpf, perf, userfaultfd, keys
        *(
            172,
            173,
            154,
            134,
            136,
            139,
            156,
            180,
        ),  # iopl, ioperm, modify_ldt, uselib, ustat, sysfs, _sysctl, nfsservctl
        *(29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71),  # System V memory, semaphores and queues stay behind
        *(240, 241, 242, 243, 244, 245),  # POSIX message queues stay behind
        *(304, 303, 212, 300, 301),  # files by handle, dcookie, fanotify
        *(254, 253, 294),  # inotify tells the names of files that Landlock hides
        *(317, 251, 256, 279, 126),  # seccomp, ioprio_set, migrate_pages, move_pages, capset
        *(188, 189, 190, 197, 198, 199),  # extended attributes: Landlock does not know them
        *(206, 207, 208, 209, 210),  # asynchronous I/O of old
        *(319,),  # memfd_create: memory that nobody maps is counted nowhere
        *(76,),  # truncate: not held before Landlock 3
    ),
    "aarch64": (
        *(117, 270, 271, 272),
        *(198, 203, 200, 201, 202, 242, 269),
        *(40, 39, 41, 51, 268, 97),
        *(224, 225, 142, 161, 162, 170, 112, 171, 266, 89, 60, 116, 58),
        *(104, 294, 105, 273, 106, 280, 241, 282, 219, 217, 218),
        *(42,),
        *(194, 196, 195, 197, 190, 193, 191, 192, 186, 189, 188, 187),
        *(180, 181, 182, 183, 184, 185),
        *(265, 264, 18, 262, 263),
        *(27, 26),
        *(277, 30, 238, 239, 91),
        *(5, 6, 7, 14, 15, 16),
        *(0, 1, 2, 3, 4),
        *(279,),
        *(45,),
    ),
}
NUMBERS = {
    "x86_64": {
        "open": 2,
        "openat": 257,
        "creat": 85,
        "mknod": 133,
        "mknodat": 259,
        "setsid": 112,
        "setpgid": 109,
        "kill": 62,
        "tkill": 200,
        "tgkill": 234,
        "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297,
        "prctl": 157,
        "fcntl": 72,
        "ioctl": 16,
        "clone": 56,
        "socketpair": 53,
        "sendto": 44,
        "prlimit64": 302,
        "setpriority": 141,
        "sched_setscheduler": 144,
        "sched_setparam": 142,
        "sched_setaffinity": 203,
        "sched_setattr": 314,
        "personality": 135,
        "socket": 41,
        "connect": 42,
        "sendmsg": 46,
        "chmod": 90,
        "fchmod": 91,
        "fchmodat": 268,
        "utime": 132,
        "utimes": 235,
        "utimensat": 280,
        "futimesat": 261,
        "chown": 92,
        "lchown": 94,
        "fchown": 93,
        "fchownat": 260,
    },
    "aarch64": {
        "openat": 56,
        "mknodat": 33,
        "setsid": 157,
        "setpgid": 154,
        "kill": 129,
        "tkill": 130,
        "tgkill": 131,
        "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240,
        "prctl": 167,
        "fcntl": 25,
        "ioctl": 29,
        "clone": 220,
        "socketpair": 199,
        "sendto": 206,
        "prlimit64": 261,
        "setpriority": 140,
        "sched_setscheduler": 119,
        "sched_setparam": 118,
        "sched_setaffinity": 122,
        "sched_setattr": 274,
        "personality": 92,
        "socket": 198,
        "connect": 203,
        "sendmsg": 211,
        "fchmod": 52,
        "fchmodat": 53,
        "utimensat": 88,
        "fchown": 55,
        "fchownat": 54,
    },
}

OPENING = ("open", "openat", "creat")

ALL = 0xFFFFFFFF
SET_ID = 0o6000
O_TRUNC, O_CREAT, O_TMPFILE = 0o1000, 0o100, 0o20000000
NEW_NAMESPACE = 0x7E020080
SOCK_STREAM = 1
AF_INET = 2
IPPROTO_TCP = 6
MSG_FASTOPEN = 0x20000000

Condition = tuple[int, int, int, bool]
"""An argument, a mask, a value, and whether the masked argument is to be that value or is to be another."""
Clause = tuple[tuple[Condition, ...], int]
"""What is answered where all conditions hold."""


def program(
    machine: str, abi: int, *, own_uid: bool, pid: int, has_hosts: bool = False, tells_opens: bool = False
) -> bytes:
    """The filter, as the kernel takes it.

    Args:
        machine: as `os.uname` names it.
        abi: the version of Landlock that holds the rest.
        own_uid: the command has a user id that nobody else has, so it may change the modes of what it owns.
        pid: the process that the filter is put on, which may send signals to itself.
        has_hosts: some hosts may be reached. The launcher is asked of each connection, and makes the connection itself.
        tells_opens: the launcher is told of each file that is opened. The kernel goes on with the call by itself.

    Raises:
        ValueError: there is no table for this machine.
    """
    if machine not in ARCHITECTURES:
        raise ValueError(f"there is no seccomp filter for {machine}")
    code = [_load(4), _jump(0x15, ARCHITECTURES[machine], 1, 0), _answer(KILL), _load(0)]
    if machine == "x86_64":
        code += [_jump(0x35, X32, 0, 1), _answer(KILL)]
    numbers = NUMBERS[machine]
    asked = {numbers["socket"], numbers["connect"]} if has_hosts else set()
    for number in DENIED[machine]:
        if number in asked:
            continue
        code += [_jump(0x15, number, 0, 1), _answer(ERRNO | EPERM)]
    for name, clauses in rules(abi, own_uid=own_uid, pid=pid, has_hosts=has_hosts).items():
        if name in numbers:
            last = NOTIFY if tells_opens and name in OPENING else ALLOW
            body = [step for clause in clauses for step in _clause(clause)] + [_answer(last)]
            code += [_jump(0x15, numbers[name], 0, len(body)), *body]
    for number in NEWER_ALLOWED:
        code += [_jump(0x15, number, 0, 1), _answer(ALLOW)]
    code += [_jump(0x35, NEWER, 0, 1), _answer(ERRNO | ENOSYS), _answer(ALLOW)]
    return b"".join(code)


def rules(abi: int, *, own_uid: bool, pid: int, has_hosts: bool = False) -> dict[str, tuple[Clause, ...]]:
    """What is denied by its arguments. The first clause that holds gives the answer; where none does, it is allowed."""
    deny = ERRNO | EPERM
    denied: tuple[Clause, ...] = (((), deny),)
    skipped: tuple[Clause, ...] = (((), ERRNO | NOTHING_DONE),)

    def opening(flags: int) -> tuple[Clause, ...]:
        return (
            # Access mode 3 is neither reading nor writing: Landlock asks for no right, and a device takes ioctls.
            (((flags, 3, 3, True),), ERRNO | EACCES),
            # A file that may be read is emptied by O_TRUNC; Landlock sees that from version 3 on.
            (((flags, 3 | O_TRUNC, O_TRUNC, True),), ERRNO | EACCES),
            (((flags, O_CREAT, O_CREAT, True), (flags + 1, SET_ID, 0, False)), deny),
            (((flags, O_TMPFILE, O_TMPFILE, True), (flags + 1, SET_ID, 0, False)), deny),
        )

    def mode(argument: int) -> tuple[Clause, ...]:
        # Landlock does not know modes. Without a user id of its own the command could change those of all files of the
        # user: so nothing is done, and as most programs that set a mode go on without it, they are told that it was.
        set_id: Clause = (((argument, SET_ID, 0, False),), deny)
        return (set_id,) if own_uid else (set_id, ((), ERRNO | NOTHING_DONE))

    def only_self(argument: int) -> tuple[Clause, ...]:
        return ((((argument, ALL, 0, False),), deny),)

    found: dict[str, tuple[Clause, ...]] = {
        "open": opening(1),
        "openat": opening(2),
        "creat": ((((1, SET_ID, 0, False),), deny),),
        "mknod": ((((1, SET_ID, 0, False),), deny),),
        "mknodat": ((((2, SET_ID, 0, False),), deny),),
        "chmod": mode(1),
        "fchmod": mode(1),
        "fchmodat": mode(2),
        # Everything stays in one group, which one signal ends: a command that leaves it is told that it did.
        "setsid": skipped,
        "setpgid": skipped,
        # PDEATHSIG, DUMPABLE, SECCOMP, MM, CHILD_SUBREAPER, PTRACER: our end of it, and what the watchdog can see.
        "prctl": tuple((((0, ALL, option, True),), deny) for option in (1, 4, 22, 35, 36, 0x59616D61)),
        # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_NOTIFY, F_SETLEASE: signals to others, names of files, waiting of others.
        "fcntl": tuple((((1, ALL, command, True),), deny) for command in (8, 10, 15, 1026, 1024)),
        # TIOCSTI and TIOCLINUX type into a terminal; FIOSETOWN and SIOCSPGRP are F_SETOWN.
        "ioctl": tuple((((1, ALL, command, True),), deny) for command in (0x5412, 0x541C, 0x8901, 0x8902)),
        "clone": ((((0, NEW_NAMESPACE, 0, False),), deny),),
        # A datagram end could send to any unix datagram socket. So only streams, in the family of unix sockets.
        "socketpair": ((((0, ALL, 1, False),), deny), (((1, 0xFF, SOCK_STREAM, False),), deny)),
        "sendto": (
            *((((argument, ALL, 0, False),), deny) for argument in (4, -4)),
            (((3, MSG_FASTOPEN, 0, False),), deny),
        ),
        # TCP fast open connects without `connect`.
        "sendmsg": ((((2, MSG_FASTOPEN, 0, False),), deny),),
        "prlimit64": only_self(0),
        "setpriority": (*only_self(0), *only_self(1)),
        "sched_setscheduler": only_self(0),
        "sched_setparam": only_self(0),
        "sched_setaffinity": only_self(0),
        "sched_setattr": only_self(0),
        "personality": ((((0, ALL, ALL, False),), deny),),
        "rt_sigqueueinfo": denied,
        "rt_tgsigqueueinfo": denied,
    }
    if has_hosts:  # sockets of TCP over IPv4 alone: the forwarder listens there. No other address is ever connected to.
        found["socket"] = (
            (((0, ALL, AF_INET, False),), deny),
            (((1, 0xFF, SOCK_STREAM, False),), deny),
            (((2, ALL & ~IPPROTO_TCP, 0, False),), deny),
        )
        found["connect"] = (((), NOTIFY),)
    if not own_uid:
        found |= dict.fromkeys(("utime", "utimes", "utimensat", "futimesat"), skipped)
        found |= dict.fromkeys(("chown", "lchown", "fchown", "fchownat"), denied)
    if abi < 6:  # Landlock does not hold signals: only to itself and to its own group
        mine: Clause = (((0, ALL, pid, True),), ALLOW)
        whole_group: Clause = (((0, ALL, 0, True),), ALLOW)
        found["kill"] = (mine, whole_group, (((0, ALL, -pid & ALL, True),), ALLOW), *denied)
        found["tkill"] = found["tgkill"] = (mine, *denied)
    return found


# Instructions ---------------------------------------------------------------------------------------------------------


def _clause(clause: Clause) -> list[bytes]:
    conditions, answer = clause
    code = [_answer(answer)]
    for argument, mask, value, is_equal in reversed(conditions):
        after = len(code)
        jump = _jump(0x15, value, 0, after) if is_equal else _jump(0x15, value, after, 0)
        code = [_load(_place(argument)), _instruction(0x54, 0, 0, mask), jump, *code]
    return code


def _place(argument: int) -> int:
    """Where an argument stands: its lower half, or with a minus its upper half."""
    return 16 + 8 * argument if argument >= 0 else 20 - 8 * argument


def _load(offset: int) -> bytes:
    return _instruction(0x20, 0, 0, offset)


def _jump(kind: int, value: int, if_true: int, if_false: int) -> bytes:
    return _instruction(kind, if_true, if_false, value)


def _answer(value: int) -> bytes:
    return _instruction(0x06, 0, 0, value)


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")
