# Write one file above the limit.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
with open("large", "wb") as file:
    os.posix_fallocate(file.fileno(), 0, 300 << 20)
print("BITTEN")
