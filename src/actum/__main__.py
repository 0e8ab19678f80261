"""`python -m actum`: the same as `actum`, for where scripts are not on the path."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # a file in the working folder, such as `redis.py`, takes the place of no library; see `user_code`

from .cli.app import main

if __name__ == "__main__":
    main()
