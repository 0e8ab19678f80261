# End another process by a signal that carries a value.
import ctypes
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.sigqueue(int(VICTIM), 15, ctypes.c_void_p(0))
