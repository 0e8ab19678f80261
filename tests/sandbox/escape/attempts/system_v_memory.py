# Leave shared memory behind.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.shmget(int(TAG[-7:], 16), 4096, 0o1666)
