# Use a system call that is newer than the filter.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(452), -100, b".", 0o700, 0) == 0 else "held")
