# Leave a file in /dev/shm.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open("/dev/shm/" + TAG, "x").close()
