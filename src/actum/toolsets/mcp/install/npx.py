"""`install_npx`: the package of an `npx` server is installed first, in a jail, so that the server needs no network.

`npx` installs and runs in one process. A network that is open for the installation would be open for the server, too.
So npm runs in a jail of its own: it reaches the configured registry alone, reads the user's registry settings, and
writes one folder. No script of a package is run. The server is then started from that folder, which it may only read.

The versions and digests of all packages are taken from npm's lock file. The folder is named by the digest of its
contents (`package.py`). A package that was installed anew with other contents is another server, and no approval for
the old one holds.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePath
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from ....core.errors import UsageError
from ....core.language.sentence import names_or_none
from ....protocols.mcp.config import McpJail, McpServer
from ....sandbox.jail import Jail
from ....transport.egress import Egress
from .package import LIMITS, InstalledPackage, InstalledServer, keep, new_folder, run_installer

REGISTRY = "https://registry.npmjs.org/"
PACKAGE = re.compile(
    r"(?P<name>(?:@[a-z0-9][\w.~-]*/)?[a-z0-9][\w.~-]*)(?:@(?P<version>[\w.~^*+><=-]+))?", re.IGNORECASE
)
VARIABLE = re.compile(r"\$\{(\w+)\}")
OPTIONS = {
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_ignore_scripts": "true",
    "npm_config_update_notifier": "false",
}


class _Locked(Struct):
    version: str = ""
    integrity: str = ""


class _Lock(Struct):
    packages: dict[str, _Locked]


class _Manifest(Struct):
    name: str
    bin: str | dict[str, str] = {}


class _NpxWords(Struct, frozen=True):
    """What a command line of npx says: the package, its name, the program, and the server's own arguments."""

    package: str
    name: str
    program: str
    arguments: tuple[str, ...]


async def install_npx(
    server: McpServer, environment: Mapping[str, str], egress: Egress | None = None
) -> InstalledServer:
    """Install the package of a server that is configured as `npx [-y] PACKAGE [ARGUMENT]...`.

    Args:
        server: as it is configured, with a jail.
        environment: of this process: where the user's registry settings and our own folders are.
        egress: the operator's rules for outgoing calls. They hold for the registry, too.

    Raises:
        UsageError: the command can't be read, npm is missing or failed, or the package has no program. Nothing is
            left behind.
    """
    words = _npx_words(server.args)
    npm, node = npm_programs()
    secrets = list(_variables(_settings(environment), environment).values())
    async with new_folder(environment) as made:
        command = [str(node), str(npm), "install", "--prefix", str(made), "--", words.package]
        await run_installer("npm", command, npm_jail(made, environment), made, egress, secrets)
        place, script, packages = await asyncio.to_thread(_kept, made, words)
    jailed = server.jail or McpJail()
    runs = structs.replace(
        server,
        command=str(node),
        args=(str(script), *words.arguments),
        jail=structs.replace(jailed, read=(*jailed.read, str(place))),
    )
    return InstalledServer(runs, packages)


def npm_jail(made: Path, environment: Mapping[str, str]) -> Jail:
    """The jail in which npm installs into a folder.

    Raises:
        UsageError: there is no npm, or the user's registry is not at an http address.
    """
    npm, node = npm_programs()
    settings = _settings(environment)
    variables = _variables(settings, environment)
    if registry := _named_registry(environment):
        variables["npm_config_registry"] = registry
    return Jail(
        read=(str(npm.parents[1]), str(node), *((str(settings),) if settings.is_file() else ())),
        hosts=_registries(settings, environment),
        home=str(made),
        environment={**OPTIONS, **variables, "npm_config_userconfig": str(settings)},
        limits=LIMITS,
    )


def _kept(made: Path, words: _NpxWords) -> tuple[Path, Path, tuple[InstalledPackage, ...]]:
    """Give the folder that npm filled the name of its contents: that folder, the server's script, and the packages."""
    shutil.rmtree(made / ".npm", ignore_errors=True)
    packages = _packages(_read_lock(made), words.name)
    script = _program(made, words)
    for path in (*made.glob("*.json"), made / "node_modules" / ".package-lock.json"):
        path.unlink(missing_ok=True)  # they name the folder of this one installation
    place = keep(made, made, words.name)
    return place, place / script, packages


def is_npx(server: McpServer) -> bool:
    """Whether a server is started by npx."""
    return PurePath(server.command).name == "npx"


def _npx_words(args: tuple[str, ...]) -> _NpxWords:
    """Read a command line of npx.

    Raises:
        UsageError: it has an option that is not known here, or names no package of a registry.
    """
    rest, package = list(args), ""
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-y", "--yes", "-q", "--quiet"):
            continue
        if option in ("-p", "--package") and rest and not package:
            package = rest.pop(0)
        elif option.startswith("--package=") and not package:
            package = option.removeprefix("--package=")
        elif option == "--":
            break
        else:
            raise UsageError(
                "npx {option}: this option is not known here; write npx -y PACKAGE [ARGUMENT]...", option=option
            )
    if not rest:
        raise UsageError("npx names no package; write npx -y PACKAGE [ARGUMENT]...")
    program = rest.pop(0)
    found = PACKAGE.fullmatch(package or program)
    if found is None:
        raise UsageError(
            "{package!r} is not the name of a package in a registry, such as name@1.2.3", package=package or program
        )
    return _NpxWords(package or program, found["name"], program if package else "", tuple(rest))


def npm_programs() -> tuple[Path, Path]:
    """The script of npm, and the Node that runs it.

    Raises:
        UsageError: there is no npm.
    """
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise UsageError("npx servers are installed by npm, and there is no npm on this machine. Install Node.js")
    return Path(npm).resolve(), Path(node).resolve()


def _settings(environment: Mapping[str, str]) -> Path:
    """The user's settings of npm."""
    named = environment.get("NPM_CONFIG_USERCONFIG") or environment.get("npm_config_userconfig")
    return Path(named or Path(environment.get("HOME") or "~", ".npmrc")).expanduser().resolve()


def _lines(settings: Path) -> str:
    return settings.read_text("utf-8", "replace") if settings.is_file() else ""


def _variables(settings: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the user's settings name, such as a token. npm fills them in."""
    return {name: environment[name] for name in VARIABLE.findall(_lines(settings)) if name in environment}


def _named_registry(environment: Mapping[str, str]) -> str:
    """The registry that a variable names, which holds before the user's settings; empty for none."""
    return environment.get("NPM_CONFIG_REGISTRY") or environment.get("npm_config_registry") or ""


def _registries(settings: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts of the registries that the user configured, each with its scheme and port; the public one else."""
    found = {"registry": _named_registry(environment)}
    for line in _lines(settings).splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if name == "registry" or name.endswith(":registry"):
            filled = VARIABLE.sub(lambda match: environment.get(match[1], ""), value.strip("\"'"))
            found[name] = found.get(name) or filled
    found["registry"] = found["registry"] or REGISTRY
    hosts = []
    for address in found.values():
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "{settings}: the registry {address!r} is not an http address", settings=settings, address=address
            )
        hosts.append(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    return tuple(dict.fromkeys(hosts))


def _read_lock(folder: Path) -> bytes:
    try:
        return (folder / "package-lock.json").read_bytes()
    except OSError as error:
        raise UsageError("npm wrote no lock file: {why}", why=error.strerror) from None


def _packages(lock: bytes, own: str) -> tuple[InstalledPackage, ...]:
    try:
        locked = msgspec.json.decode(lock, type=_Lock).packages
    except (ValueError, RecursionError) as error:
        raise UsageError("the lock file of npm can't be read: {why}", why=error) from None
    found = [
        InstalledPackage(path.rpartition("node_modules/")[2], each.version, each.integrity)
        for path, each in locked.items()
        if path
    ]
    for each in found:
        if not each.integrity:
            raise UsageError(
                "the registry gives no digest for the package {each}, so nothing could pin it", each=each.name
            )
    return tuple(sorted(found, key=lambda each: (each.name != own, each.name, each.version)))


def _program(folder: Path, words: _NpxWords) -> Path:
    """The script of a package that npx would run, relative to the folder. A link out of the package is refused."""
    package = folder / "node_modules" / words.name
    try:
        manifest = msgspec.json.decode((package / "package.json").read_bytes(), type=_Manifest)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError("the package {why} can't be read: {hint_why}", why=words.name, hint_why=error) from None
    last = manifest.name.rpartition("/")[2]
    programs = {last: manifest.bin} if isinstance(manifest.bin, str) else manifest.bin
    wanted = words.program or (last if last in programs else next(iter(programs), "") if len(programs) == 1 else "")
    if wanted not in programs:
        raise UsageError(
            "the package {why} has no program {wanted}: it has {programs}",
            why=words.name,
            wanted=wanted or last,
            programs=names_or_none(programs),
        )
    script = (package / programs[wanted]).resolve()
    if not script.is_relative_to(folder.resolve() / "node_modules" / words.name) or not script.is_file():
        raise UsageError("the package {why} names a program outside the package", why=words.name)
    return script.relative_to(folder.resolve())
