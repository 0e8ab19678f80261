# Ask for the handle of a file, which needs no path later.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(200), 204)
mount = ctypes.c_int()
done = libc.name_to_handle_at(-100, (OUT + "/secret").encode(), handle, ctypes.byref(mount), 0)
print("BITTEN" if done == 0 else "held")
