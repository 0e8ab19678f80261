"""`python -m actum`: the same as `actum`, for where scripts are not on the path."""

from .cli.app import main

if __name__ == "__main__":
    main()
