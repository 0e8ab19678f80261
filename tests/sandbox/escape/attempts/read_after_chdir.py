# Go to the folder first.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.chdir(OUT)
print(open("secret").read())
