# Make a link outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.symlink("/", OUT + "/new")
