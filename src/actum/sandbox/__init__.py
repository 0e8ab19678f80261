"""Commands in a jail: data says what may be read, written and used up; the kernel holds it. See `docs/sandbox.md`."""
