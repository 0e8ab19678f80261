# Be told of the names of files that others open.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
print("BITTEN" if libc.inotify_add_watch(fd, OUT.encode(), 0xFFF) >= 0 else "held")
