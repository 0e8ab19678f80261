# Change the mode of a file that may be read, through its descriptor.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.fchmod(os.open(OUT + "/readable/file", os.O_RDONLY), 0o600)
