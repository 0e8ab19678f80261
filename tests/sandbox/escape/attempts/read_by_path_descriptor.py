# Open the folder without a right to read it, and a file relative to it.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
folder = os.open(OUT, os.O_PATH)
print(os.read(os.open("secret", os.O_RDONLY, dir_fd=folder), 1000))
