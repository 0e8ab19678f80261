# Compare the memory of two processes.
import ctypes
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(312), os.getpid(), int(VICTIM), 1, 0, 0) >= 0 else "held")
