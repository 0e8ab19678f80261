# Read a file outside.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
print(open(OUT + "/secret").read())
