# Read the environment of another process.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
print(open(f"/proc/{VICTIM}/environ").read())
