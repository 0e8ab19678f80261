"""What holds for every test: it does not depend on who runs it, on how fast the machine is, or on luck."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile

from hypothesis import settings

OF_THE_PERSON = re.compile(r"ACTUM_.*|.*_API_KEY|.*_BASE_URL|.*_PROXY|NO_COLOR|FORCE_COLOR|COLUMNS", re.IGNORECASE)
"""Variables by which the person who runs the tests would change what they see: keys, endpoints, proxies, colours."""

for name in list(os.environ):
    if OF_THE_PERSON.fullmatch(name):
        del os.environ[name]

# What a test approves or logs in to is no state of the person's; processes that a test starts inherit the folder.
STATE = tempfile.mkdtemp(prefix="actum-state-")
atexit.register(shutil.rmtree, STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = STATE

# The same examples each time, so that what passed passes again; `--hypothesis-profile=default` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
