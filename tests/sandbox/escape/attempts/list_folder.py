# List a folder outside.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
print(os.listdir(OUT))
