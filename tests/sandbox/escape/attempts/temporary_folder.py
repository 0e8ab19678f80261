# Leave a file in /tmp.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open("/tmp/" + TAG, "x").close()
