# End another process of the user, by the number of its thread.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.syscall(ctypes.c_long(200), int(VICTIM), 15)
