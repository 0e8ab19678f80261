# Make a folder outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.mkdir(OUT + "/new")
