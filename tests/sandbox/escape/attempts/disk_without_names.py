# Fill the disk with files that have no name any more.
import os
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
held = []
for number in range(10):
    held.append(open(str(number), "wb"))
    os.unlink(str(number))
    os.posix_fallocate(held[-1].fileno(), 0, 50 << 20)
time.sleep(0.6)
print("BITTEN")
