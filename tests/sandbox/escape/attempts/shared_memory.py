# Use more memory than the limit, in a map that is shared.
import mmap
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
held = mmap.mmap(-1, 700 << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
time.sleep(0.5)
print("BITTEN")
