# Fill files in memory that nobody maps.
import os
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
held = []
for number in range(14):
    held.append(os.memfd_create(str(number)))
    os.posix_fallocate(held[-1], 0, 50 << 20)
time.sleep(0.5)
print("BITTEN")
