# Make a file outside.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open(OUT + "/new", "x").close()
