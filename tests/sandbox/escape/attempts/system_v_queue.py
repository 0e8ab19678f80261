# Leave a message queue behind.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.msgget(int(TAG[-7:], 16), 0o1666)
