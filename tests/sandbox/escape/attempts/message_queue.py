# Make a message queue of POSIX.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
name = TAG.encode()
fd = libc.syscall(ctypes.c_long(240), name, 0o102, 0o600, None)
print("BITTEN" if fd >= 0 else "held")
libc.syscall(ctypes.c_long(241), name)
