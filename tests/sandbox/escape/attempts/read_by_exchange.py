# Open by openat2, which a filter cannot look into.
import ctypes
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
how = (0).to_bytes(24, "little")
fd = libc.syscall(ctypes.c_long(437), -100, (OUT + "/secret").encode(), how, ctypes.c_size_t(24))
print(os.read(fd, 1000))
