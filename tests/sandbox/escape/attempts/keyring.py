# Keep a key in the kernel.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.syscall(ctypes.c_long(248), b"user", b"actum", b"x", ctypes.c_size_t(1), -2) >= 0 else "held")
