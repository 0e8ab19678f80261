# Tie another process to one CPU.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.sched_setaffinity(int(VICTIM), {0})
