# Leave semaphores behind.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.semget(int(TAG[-7:], 16), 1, 0o1666)
