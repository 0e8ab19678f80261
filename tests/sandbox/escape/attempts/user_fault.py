# Answer page faults.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(323), 1) >= 0 else "held")
