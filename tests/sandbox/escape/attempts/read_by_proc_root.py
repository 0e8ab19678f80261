# Read a file outside by way of /proc.
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
print(open("/proc/self/root" + OUT + "/secret").read())
