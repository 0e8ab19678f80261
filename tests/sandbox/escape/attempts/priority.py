# Make another process slower.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.setpriority(os.PRIO_PROCESS, int(VICTIM), 19)
