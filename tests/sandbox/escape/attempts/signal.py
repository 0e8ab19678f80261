# End another process of the user.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.kill(int(VICTIM), 15)
