"""Python code of the user's own, by its name: a file or a module, or one object in it.

To name a file or a module is to run it, as `python file.py` does.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType

from ..core.errors import ActumError, UnknownName, UsageError


def load_objects(name: str) -> list[object]:
    """What a place of the user's own holds, whatever it is.

    Args:
        name: `file.py` or `module` for all that is public there, `file.py:name` or `module:name` for one thing.

    Raises:
        UsageError: there is no such place or name, or it could not be loaded.
    """
    if not names_one_object(name):
        return public_objects(load_module(name))
    found = load_object(name)
    return [*found] if isinstance(found, list | tuple) else [found]


def names_one_object(spec: str) -> bool:
    """Whether this is `place:name`, and not a place alone."""
    place, colon, name = spec.rpartition(":")
    return bool(colon) and bool(place) and name.isidentifier()


def load_object(spec: str) -> object:
    """The object that `file.py:name` or `module:name` means."""
    place, _, name = spec.rpartition(":")
    module = load_module(place)
    if not hasattr(module, name):
        known = ", ".join(known for known in vars(module) if not known.startswith("_"))
        raise UnknownName(
            "{place} has no {name!r}; it has: {known}", place=place, name=name, known=known[:200] or "nothing"
        )
    found: object = getattr(module, name)
    return found


def is_module(name: str) -> bool:
    """Whether there is a module of this name; looked for in the working directory too, without running the module."""
    look_in(Path.cwd())
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def load_module(place: str) -> ModuleType:
    """Load a file or import a module: run it, as `python` would.

    Raises:
        UsageError: it is not there, or fails while it is loaded; the message says in which line.
    """
    path = Path(place).expanduser()
    if place.endswith(".py") and not path.is_file():
        raise UnknownName("there is no file {place}", place=place)
    if not place.endswith(".py") and not is_module(place):
        raise UnknownName("there is no module {place!r} (a file is named with its .py)", place=place)
    try:
        return _from_file(path) if place.endswith(".py") else importlib.import_module(place)
    except SyntaxError as error:
        raise UsageError(
            "{file}, line {line}: {why}", file=error.filename or place, line=error.lineno, why=error.msg
        ) from error
    except (Exception, SystemExit) as error:
        raise UsageError(
            "{place} failed while it was loaded: {problem}", place=place, problem=_told(error, path)
        ) from error


def _from_file(path: Path) -> ModuleType:
    """The module that a file makes, loaded once a process, whatever folder it lies in."""
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(bytes(path)).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    look_in(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def look_in(folder: Path) -> None:
    """Let what is loaded import what lies beside it; last, so that a file called `random.py` disturbs nobody else.

    A package without a file of its own, such as `google`, would give way to a module of its name anywhere on the path,
    so where it is installed, it is imported first.
    """
    if str(folder) in sys.path:
        return
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")} & {*sys.path}
    names = {place.stem for place in folder.glob("*") if place.suffix == ".py" or (place / "__init__.py").is_file()}
    for name in sorted(names - sys.modules.keys()):
        if any(_is_open_package(Path(place) / name) for place in installed):
            importlib.import_module(name)  # runs nothing
    sys.path.append(str(folder))


def _is_open_package(folder: Path) -> bool:
    """Whether a folder holds code, and no file that would make it a closed package."""
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return False
    return any(True for form in ("*.py", "*/__init__.py") for _ in folder.glob(form))


def _told(error: BaseException, path: Path) -> str:
    """An exception of the user's own code in a line, with the last line of their file that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.resolve()]
    where = f" (line {lines[-1]})" if lines else ""
    kind = "" if isinstance(error, ActumError) else f"{type(error).__name__}: "
    return f"{kind}{error}{where}"


def public_objects(module: ModuleType) -> list[object]:
    """The objects of a module whose names do not begin with an underscore."""
    return [thing for name, thing in vars(module).items() if not name.startswith("_")]


def kind_of(thing: object) -> str:
    """What an object is, for an error message."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
