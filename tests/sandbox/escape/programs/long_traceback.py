# A traceback of a thousand lines.
import traceback


def deeper(n):
    return deeper(n - 1) if n else 1 / 0


try:
    deeper(900)
except ZeroDivisionError:
    assert "more times" in traceback.format_exc()
print("fine")
