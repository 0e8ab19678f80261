# Empty a file that may only be read.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.truncate(OUT + "/readable/file", 0)
