# Leave a program that runs as its owner.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open("left", "x").close()
os.chmod("left", 0o4755)
