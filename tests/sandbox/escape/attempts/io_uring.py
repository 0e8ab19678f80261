# Set up a queue of system calls that a filter does not see.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(425), 1, bytes(120)) >= 0 else "held")
