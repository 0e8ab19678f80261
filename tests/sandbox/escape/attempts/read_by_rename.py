# Move a file outside into the work folder, and read it.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.rename(OUT + "/secret", "mine")
print(open("mine").read())
