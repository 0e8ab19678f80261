# Hang an attribute on a file outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.setxattr(OUT + "/readable/file", "user.mine", b"1")
