# Use more memory than the limit.
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
held = bytearray(700 << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
time.sleep(0.5)
print("BITTEN")
