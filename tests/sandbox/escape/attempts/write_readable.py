# Write into a folder that may only be read.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open(OUT + "/readable/new", "x").close()
