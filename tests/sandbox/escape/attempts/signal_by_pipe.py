# Have the kernel signal another process when a pipe can be read.
import fcntl
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
theirs, ours = os.pipe()
fcntl.fcntl(theirs, 8, int(VICTIM))
fcntl.fcntl(theirs, 10, 15)
fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_ASYNC)
os.write(ours, b"x")
