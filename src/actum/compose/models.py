"""The model that the settings name: the embedded model, a model at an endpoint, or an object of the user's own."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..core.errors import UsageError
from ..core.model import Model
from ..core.process.named_file import read_named_text
from ..dialects import dialect
from ..dialects.base import Dialect
from ..models.catalog import PROVIDERS, URL_KEY_VARIABLE, open_model
from .settings import EMBEDDED, SETTINGS_FILE, Settings
from .user_code import is_module, kind_of, load_object, names_one_object


def make_model(settings: Settings) -> Model:
    """The model that the settings name: the user's own object, an endpoint, or the embedded model.

    Raises:
        UnknownName: there is no such model or dialect; the message says what there is.
        UsageError: a key is missing or would go where nobody sent it, or an address stands without a model.
    """
    name = _full_name(settings)
    if "://" in name:
        _keep_the_key(settings, name)
        return open_model(name, dialect=make_dialect(settings))
    place, _, _ = name.rpartition(":")
    own = names_one_object(name) and place not in PROVIDERS and (place.endswith(".py") or is_module(place))
    return open_model(_own_model(name) if own else name, dialect=make_dialect(settings))


def make_dialect(settings: Settings) -> str | Dialect:
    """The dialect that the settings name: its name, or the dialect itself where they give it options.

    Raises:
        UnknownName: there is no such dialect.
        UsageError: it takes no such option, or its template can not be read.
    """
    table = settings.dialect
    if isinstance(table, str):
        return table
    options: dict[str, str | bool] = msgspec.to_builtins(table)
    name = str(options.pop("name"))
    if table.template:
        path = Path(settings.origin.folder if settings.origin is not None else ".") / table.template
        try:
            options["template"] = read_named_text(path)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise UsageError("the template {path} can not be read: {why}", path=table.template, why=why) from None
        if not options["template"]:
            raise UsageError("the template {path} is empty", path=table.template)
    return dialect(name, **options)


def _full_name(settings: Settings) -> str:
    """The model's name, put behind the address that was set where it names no place itself."""
    name, url = settings.model, settings.base_url
    prefix, colon, _ = name.partition(":")
    placed = name == EMBEDDED or "://" in name or ".py:" in name or (colon and prefix in PROVIDERS)
    if not url or placed:
        return name or EMBEDDED
    if not name and "#" not in url:
        raise UsageError("base_url is set and no model: set ACTUM_MODEL to its name there, or give --model NAME")
    return f"{url}#{name}" if name else url


def _keep_the_key(settings: Settings, name: str) -> None:
    """A file in the working directory, which may be anybody's, does not decide where a person's key is sent.

    Raises:
        UsageError: it would.
    """
    source = settings.sources.get("model" if "://" in settings.model else "base_url")
    if source != SETTINGS_FILE or not os.environ.get(URL_KEY_VARIABLE):
        return
    if urlsplit(name).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(
            "actum.toml names the address {name}, and {url_key_variable} would be sent there: set "
            "ACTUM_BASE_URL to that address if you mean it, or unset the key",
            name=name,
            url_key_variable=URL_KEY_VARIABLE,
        )


def _own_model(spec: str) -> Model:
    found = load_object(spec)
    if isinstance(found, type) or not isinstance(found, Model):
        raise UsageError(
            "{place} is {kind}; a Model is an object with a name and an async method reply()",
            place=spec,
            kind=kind_of(found),
        )
    return found
