# Remove a file outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.unlink(OUT + "/target")
