# Empty a file that may only be read, by opening it for reading.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.open(OUT + "/readable/file", os.O_RDONLY | os.O_TRUNC)
