# Trace another process.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
print("BITTEN" if libc.ptrace(0x4206, int(VICTIM), None, None) == 0 else "held")
