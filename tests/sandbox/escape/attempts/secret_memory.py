# Hold memory that nobody can read.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(447), 0) >= 0 else "held")
