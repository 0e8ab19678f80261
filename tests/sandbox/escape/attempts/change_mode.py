# Change the mode of a file outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.chmod(OUT + "/readable/file", 0o600)
