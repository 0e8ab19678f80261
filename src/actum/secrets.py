"""Secrets for tools, which differ by user: `Agent(secrets=open_secrets(os.environ))`.

    from actum.secrets import GivenKey, SecretFile, SecretKey, SecretValue, User

    store = SecretFile(Path("secrets.json"), GivenKey(SecretKey(key, "the vault")))
    store.set("crm_key", SecretValue("..."), User(tenant="", principal="ann"))
    agent = Agent(model, tools=[...], secrets=store)

A store of your own is a `SecretStore`; what only answers which secrets a user may have is a `SecretSource`. The guide
`docs/secrets.md` tells the rest.
"""

from .compose.secrets import open_secrets
from .core.secrets.store import SecretEntry, SecretSource, SecretStore, SecretValue, UserSecrets
from .core.user import User
from .storage.secret_file import SecretFile
from .storage.secret_key import GivenKey, KeyProvider, SecretKey

__all__ = [
    "GivenKey",
    "KeyProvider",
    "SecretEntry",
    "SecretFile",
    "SecretKey",
    "SecretSource",
    "SecretStore",
    "SecretValue",
    "User",
    "UserSecrets",
    "open_secrets",
]
