# Find descriptors that were left open.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
for fd in range(3, 4096):
    try:
        os.fstat(fd)
    except OSError:
        continue
    print("BITTEN", fd)
