# Give a file outside a second name in the work folder, and read that.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.link(OUT + "/secret", "link")
print(open("link").read())
