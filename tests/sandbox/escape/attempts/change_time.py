# Change the time of a file outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.utime(OUT + "/readable/file", (1, 1))
