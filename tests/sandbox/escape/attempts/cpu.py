# Use more CPU than the limit, in two processes.
import os
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.fork()
while time.process_time() < 2.2:
    pass
time.sleep(0.3)
print("BITTEN")
