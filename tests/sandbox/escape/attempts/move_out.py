# Move a file of the work folder to a place outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open("mine", "x").close()
os.rename("mine", OUT + "/new")
