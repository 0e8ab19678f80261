# Fill the disk below a folder that nobody may list.
import os
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.mkdir("shut", 0o300)
os.chdir("shut")
for number in range(10):
    with open(str(number), "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 50 << 20)
time.sleep(0.6)
print("BITTEN")
