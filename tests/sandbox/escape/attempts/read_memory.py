# Read the memory of another process as a file.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
open(f"/proc/{VICTIM}/mem", "rb").close()
print("BITTEN")
