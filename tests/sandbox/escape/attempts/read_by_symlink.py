# Read a file outside through a link in the work folder.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.symlink(OUT + "/secret", "link")
print(open("link").read())
