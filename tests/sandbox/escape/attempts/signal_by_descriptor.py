# End another process by a descriptor of it.
import ctypes
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
fd = os.pidfd_open(int(VICTIM))
libc.syscall(ctypes.c_long(424), fd, 15, None, 0)
