# Empty a file with the access mode that neither reads nor writes.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.open(OUT + "/readable/file", 3 | os.O_TRUNC)
