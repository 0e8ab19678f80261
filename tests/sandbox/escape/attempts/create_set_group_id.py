# Leave a file that runs as its group, by mknod.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.umask(0)
os.mknod("left", 0o102755)
