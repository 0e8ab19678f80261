"""`install_uvx`: the package of a server of `uvx` or `pipx run` is installed first, in a jail, by `uv`.

As with npm (`npx.py`), `uv` reaches the configured package index alone, reads the user's settings, and writes one
folder. Wheels alone are installed: no `setup.py` and no build backend of a package is run. A lock file is made first,
which pins the version and the digest of each package, and the packages are installed as the lock file says.

The folder is then a small virtual environment of the Python that runs actum, in which the server is started. It holds
nothing that differs from one installation of the same packages to the next: its digest is its name (`package.py`).

Where `uv` has no settings of an index, those of pip hold.
"""

from __future__ import annotations

import asyncio
import configparser
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct, structs

from ....core.errors import UsageError
from ....core.language.sentence import names_or_none
from ....core.toml import read_toml
from ....protocols.mcp.config import McpJail, McpServer
from ....sandbox.jail import Jail
from ....transport.egress import Egress
from .package import LIMITS, InstalledPackage, InstalledServer, keep, new_folder, run_installer

PYPI = ("https://pypi.org", "https://files.pythonhosted.org")
"""The public index: its pages and its archives lie on two hosts."""
PYPI_NAMES = frozenset({"pypi.org", "www.pypi.org"})
REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?P<extras>\[[\w,.-]+\])?"
    r"(?:@(?P<version>[\w.!+*]+)|(?P<range>(?:[=<>!~]=|===|[<>])[\w.!+*]+(?:,(?:[=<>!~]=|===|[<>])[\w.!+*]+)*))?"
)
ENTRY = re.compile(r"(?P<module>\w+(?:\.\w+)*)\s*:\s*(?P<name>\w+(?:\.\w+)*)\s*(?:\[.*\])?")
PASSED_ON = re.compile(
    r"UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|INDEX_STRATEGY|INDEX_\w+_(USERNAME|PASSWORD)"
    r"|INSECURE_HOST|SYSTEM_CERTS|NATIVE_TLS|PRERELEASE|RESOLUTION|EXCLUDE_NEWER)|SSL_CERT_FILE"
)
"""The variables of the user that say where packages come from, and which."""
OPTIONS = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_LINK_MODE": "copy"}
QUIET = frozenset({"-q", "--quiet", "--no-progress", "--isolated"})


class _Words(Struct, frozen=True):
    """What a command line says: the requirements, the name of the package, the program, and the server's arguments."""

    requirements: tuple[str, ...]
    name: str
    program: str
    arguments: tuple[str, ...]


class _Settings(Struct, frozen=True):
    """What the user's settings say.

    Attributes:
        environment: the variables that uv gets.
        indexes: addresses of the indexes and of the pages of links, as they are configured.
        read: the files that uv must read.
        options: what uv is told beside.
    """

    environment: dict[str, str]
    indexes: tuple[str, ...]
    read: tuple[str, ...]
    options: tuple[str, ...]


class _Archive(Struct):
    hashes: dict[str, str] = {}


class _Locked(Struct):
    name: str
    version: str = ""
    wheels: list[_Archive] = []


class _Lock(Struct):
    packages: list[_Locked] = []


async def install_uvx(
    server: McpServer, environment: Mapping[str, str], egress: Egress | None = None
) -> InstalledServer:
    """Install the package of a server that is configured as `uvx [--from PACKAGE] PROGRAM[@VERSION] [ARGUMENT]...`.

    `uv tool run` and `pipx run [--spec PACKAGE] PROGRAM [ARGUMENT]...` are read, too.

    Args:
        server: as it is configured, with a jail.
        environment: of this process: where the user's settings and our own folders are.
        egress: the operator's rules for outgoing calls. They hold for the index, too.

    Raises:
        UsageError: the command can't be read, uv is missing or failed, a package has no wheel for this machine, or the
            package has no such program. Nothing is left behind.
    """
    words = _uvx_words(server)
    uv, settings = uv_program(), _settings(environment)
    async with new_folder(environment) as made:
        (made / "server.in").write_text("".join(f"{each}\n" for each in words.requirements), "utf-8")
        jail = uv_jail(made, environment)
        tree, lock = made / "tree", made / "pylock.toml"
        site = _environment_in(tree)
        secrets = tuple(_secrets(settings))
        only = ("--only-binary", ":all:", "--python", sys.executable, "--quiet", *settings.options)
        locking = ("compile", "--format", "pylock.toml", "--output-file", str(lock), *only, str(made / "server.in"))
        installing = ("install", "--target", str(site), *only, "--requirements", str(lock))
        for step in (locking, installing):
            await run_installer("uv", [str(uv), "pip", *step], jail, made, egress, secrets)
        place, program, packages = await asyncio.to_thread(_kept, tree, site, lock, words)
    jailed = server.jail or McpJail()
    python = place / "bin" / "python"
    is_script = program.parent == python.parent
    runs = structs.replace(
        server,
        command=str(python if is_script else program),
        args=(*((str(program),) if is_script else ()), *words.arguments),
        jail=structs.replace(jailed, read=(*jailed.read, str(place))),
    )
    return InstalledServer(runs, packages)


def uv_jail(made: Path, environment: Mapping[str, str]) -> Jail:
    """The jail in which uv installs into a folder.

    Raises:
        UsageError: there is no uv, or the user's settings can't be read.
    """
    settings = _settings(environment)
    return Jail(
        read=(str(uv_program()), *settings.read),
        hosts=_hosts(settings.indexes),
        home=str(made),
        environment={**OPTIONS, **settings.environment, "UV_CACHE_DIR": str(made / "cache")},
        limits=LIMITS,
    )


def is_uvx(server: McpServer) -> bool:
    """Whether a server is started by uvx, `uv tool run` or `pipx run`."""
    name = PurePath(server.command).name
    return name in ("uvx", "pipx") or (name == "uv" and server.args[:2] == ("tool", "run"))


# The command line -----------------------------------------------------------------------------------------------------


def _uvx_words(server: McpServer) -> _Words:
    """Read a command line of uvx or pipx.

    Raises:
        UsageError: it has an option that is not known here, or names no package of an index.
    """
    name, rest = PurePath(server.command).name, list(server.args)
    form = "uvx [--from PACKAGE] PROGRAM [ARGUMENT]..."
    names_package = "--from"
    if name == "uv":
        del rest[:2]
    elif name == "pipx":
        form, names_package = "pipx run [--spec PACKAGE] PROGRAM [ARGUMENT]...", "--spec"
        if rest[:1] != ["run"]:
            raise UsageError("pipx does not run a server here; write {form}", form=form)
        del rest[0]
    package, beside = "", list[str]()
    while rest and rest[0].startswith("-"):
        option, parted, value = rest.pop(0).partition("=")
        if option in QUIET:
            continue
        if option == "--":
            break
        if option not in (names_package, "--with") or not (parted or rest):
            raise UsageError(
                "{name} {option}: this option is not known here; write {form}", name=name, option=option, form=form
            )
        value = value if parted else rest.pop(0)
        if option == "--with":
            beside += [_requirement(each) for each in value.split(",")]
        else:
            package = value
    if not rest:
        raise UsageError("{name} names no program; write {form}", name=name, form=form)
    program = rest.pop(0)
    found = REQUIREMENT.fullmatch(package or program)
    if found is None:
        raise UsageError(
            "{package!r} is not the name of a package in an index, such as name@1.2.3", package=package or program
        )
    own = _requirement(package or program)
    return _Words((own, *beside), _normal(found["name"]), program if package else found["name"], tuple(rest))


def _requirement(text: str) -> str:
    found = REQUIREMENT.fullmatch(text.strip())
    if found is None:
        raise UsageError("{text!r} is not the name of a package in an index, such as name@1.2.3", text=text)
    version = found["version"] if found["version"] != "latest" else ""
    return f"{found['name']}{found['extras'] or ''}" + (f"=={version}" if version else found["range"] or "")


def _normal(name: str) -> str:
    """A name of a package in the one form that all its spellings share."""
    return re.sub(r"[-_.]+", "-", name).lower()


# The user's settings --------------------------------------------------------------------------------------------------


def uv_program() -> Path:
    """The program uv: of the machine, or the one that is installed beside actum.

    Raises:
        UsageError: there is none.
    """
    found = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if found is None:
        raise UsageError(
            "servers of uvx and pipx are installed by uv, and there is no uv on this machine: `pip install uv` brings "
            "it. Or install the server yourself, and name its program in the place of uvx"
        )
    return Path(found).resolve()


def _settings(environment: Mapping[str, str]) -> _Settings:
    """The settings of uv; where they name no index, those of pip."""
    given = {name: value for name, value in environment.items() if PASSED_ON.fullmatch(name) and value}
    file = next((path for path in _uv_files(environment) if path.is_file()), None)
    configured = [*([] if file is None else _in_uv_file(file)), *_in_variables(given)]
    if not configured:
        given |= _of_pip(environment)
        configured = [*_in_variables(given)]
    options = ("--no-index",) if given.pop("UV_NO_INDEX", "") else ()
    given |= {"UV_NO_CONFIG": "1"} if file is None else {"UV_CONFIG_FILE": str(file)}
    addresses = [address for _, address in configured]
    if not options and not any(is_default for is_default, _ in configured):
        addresses.append("https://pypi.org/simple")
    files = [given[name] for name in ("SSL_CERT_FILE", "UV_CONFIG_FILE") if name in given]
    folders = [path for address in addresses if (path := _local(address)) and Path(path).exists()]
    return _Settings(given, tuple(addresses), (*files, *folders), options)


def _in_variables(variables: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    """The indexes of variables of uv: whether each is the default one, and its address."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
        for each in variables.get(name, "").replace(",", " " if name == "UV_FIND_LINKS" else ",").split():
            named = re.fullmatch(r"[\w.-]+=(.+)", each)  # NAME=ADDRESS
            yield name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"), named[1] if named else each


def _uv_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where a file of settings of uv may lie; the first that is there holds."""
    if named := environment.get("UV_CONFIG_FILE"):
        yield Path(named).absolute()
    yield _config_folder(environment) / "uv" / "uv.toml"
    yield Path("/etc/uv/uv.toml")


def _config_folder(environment: Mapping[str, str]) -> Path:
    named = environment.get("XDG_CONFIG_HOME")
    return Path(named or Path(environment.get("HOME") or "~", ".config")).expanduser()


def _in_uv_file(file: Path) -> Iterator[tuple[bool, str]]:
    """The indexes of a file of settings of uv: whether each is the default one, and its address.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        told = read_toml(file.read_text("utf-8"))
        tables = [told, *([told["pip"]] if isinstance(told.get("pip"), dict) else [])]
        for table in tables:
            for index in table.get("index", ()):
                yield bool(index.get("default")), str(index["url"])
            if "index-url" in table:
                yield True, str(table["index-url"])
            for name in ("extra-index-url", "find-links"):
                yield from ((False, str(each)) for each in table.get(name, ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError("the settings of uv in {file} can't be read: {why}", file=file, why=error) from None


def _of_pip(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of pip that say where packages come from, as variables of uv."""
    named = environment.get("PIP_CONFIG_FILE")
    home = Path(environment.get("HOME") or "~").expanduser()
    user = (home / ".pip" / "pip.conf", _config_folder(environment) / "pip" / "pip.conf")
    told: dict[str, str] = {}
    for file in (Path(named),) if named else (Path("/etc/pip.conf"), *user):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, "utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError) as error:
            raise UsageError("the settings of pip in {file} can't be read: {why}", file=file, why=error) from None
        for section in ("global", "install"):
            told |= dict(parser.items(section)) if parser.has_section(section) else {}
    found = {}
    for ours, theirs in (
        ("UV_DEFAULT_INDEX", "index-url"),
        ("UV_INDEX", "extra-index-url"),
        ("UV_FIND_LINKS", "find-links"),
    ):
        value = environment.get(f"PIP_{theirs.replace('-', '_').upper()}") or told.get(theirs, "")
        if value.split():
            found[ours] = ("," if ours == "UV_FIND_LINKS" else " ").join(value.split())
    if (environment.get("PIP_NO_INDEX") or told.get("no-index", "")).lower() in ("1", "true", "yes", "on"):
        found["UV_NO_INDEX"] = "1"
    if certificates := environment.get("PIP_CERT") or told.get("cert"):
        found["SSL_CERT_FILE"] = certificates
    return found


def _local(address: str) -> str:
    """The path of an index or of a folder of links on this machine; empty for an address of a host."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return unquote(parts.path)
    return "" if "://" in address else str(Path(address).expanduser().absolute())


def _hosts(addresses: Sequence[str]) -> tuple[str, ...]:
    """The hosts of the indexes, each with its scheme and port.

    Raises:
        UsageError: an index is not at an http address, nor on this machine.
    """
    hosts: list[str] = []
    for address in addresses:
        parts = urlsplit(address)
        if _local(address):
            continue
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("the settings of uv or pip name an index that is not at an http address")
        hosts += PYPI if parts.hostname in PYPI_NAMES else [f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"]
    return tuple(dict.fromkeys(hosts))


def _secrets(settings: _Settings) -> Iterator[str]:
    """Values of the settings that no error may show."""
    for address in settings.indexes:
        user = urlsplit(address).netloc.rpartition("@")[0]
        yield from (part for written in user.split(":") for part in (written, unquote(written)) if part)
    yield from (value for name, value in settings.environment.items() if name.endswith(("_USERNAME", "_PASSWORD")))


# What was installed ---------------------------------------------------------------------------------------------------


def _environment_in(tree: Path) -> Path:
    """Make a virtual environment with nothing in it, of the Python that runs this: the folder of its packages."""
    base = Path(sys.executable).resolve()
    site = tree / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True, mode=0o755)
    (tree / "bin").mkdir(mode=0o755)
    (tree / "bin" / "python").symlink_to(base)
    (tree / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n", "utf-8")
    return site


def _kept(tree: Path, site: Path, lock: Path, words: _Words) -> tuple[Path, Path, tuple[InstalledPackage, ...]]:
    """Give the environment the name of its contents: that folder, the server's program in it, and the packages."""
    packages = _packages(lock, words.name)
    program = _program(tree, site, words)
    shutil.rmtree(site / "__pycache__", ignore_errors=True)
    for path in (site / ".lock", *site.glob("*.dist-info/RECORD")):
        path.unlink(missing_ok=True)
    place = keep(tree.parent, tree, words.name)
    return place, place / program, packages


def _packages(lock: Path, own: str) -> tuple[InstalledPackage, ...]:
    try:
        locked = msgspec.toml.decode(lock.read_bytes(), type=_Lock).packages
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError("the lock file of uv can't be read: {why}", why=error) from None
    found = []
    for each in locked:
        digests = [wheel.hashes["sha256"] for wheel in each.wheels if "sha256" in wheel.hashes]
        if not digests or len(digests) < len(each.wheels):
            raise UsageError(
                "the index gives no digest for the package {each}, so nothing could pin it", each=each.name
            )
        found.append(InstalledPackage(each.name, each.version, " ".join(f"sha256-{digest}" for digest in digests)))
    return tuple(sorted(found, key=lambda each: (_normal(each.name) != own, each.name)))


def _program(tree: Path, site: Path, words: _Words) -> Path:
    """The program that uvx would run, relative to the environment: a script of ours that calls the function which the
    package names, or a program that is none of Python.

    Raises:
        UsageError: the package has no such program.
    """
    scripts = _entry_points(site, words.name)
    entry = ENTRY.fullmatch(scripts.get(words.program, ""))
    for path in (site / "bin").iterdir() if (site / "bin").is_dir() else ():
        if path.is_symlink() or not path.is_file() or _begins(path) == b"#!":
            path.unlink()  # it names the folder of this one installation
    binary = site / "bin" / words.program
    if entry is not None:
        lines = (
            "import sys",
            f"from {entry['module']} import {entry['name'].partition('.')[0]}",
            f"sys.argv[0] = {words.program!r}",
            f"sys.exit({entry['name']}())",
            "",
        )
        script = tree / "bin" / "server.py"
        script.write_text("\n".join(lines), "utf-8")
        return script.relative_to(tree)
    if "/" not in words.program and binary.is_file():
        return binary.relative_to(tree)
    offered = names_or_none(sorted(scripts))
    raise UsageError(
        "the package {why} has no program {program}: it has {offered}. See `uvx --from`",
        why=words.name,
        program=words.program,
        offered=offered,
    )


def _entry_points(site: Path, name: str) -> dict[str, str]:
    """The programs of a package, each with the function that it calls."""
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # names stay as they are written
    for folder in site.glob("*.dist-info"):
        if _normal(folder.name.removesuffix(".dist-info").partition("-")[0]) == name:
            try:
                parser.read(folder / "entry_points.txt", "utf-8")
            except (configparser.Error, OSError, UnicodeDecodeError) as error:
                raise UsageError(
                    "the programs of the package {name} can't be read: {why}", name=name, why=error
                ) from None
    return dict(parser.items("console_scripts")) if parser.has_section("console_scripts") else {}


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)
