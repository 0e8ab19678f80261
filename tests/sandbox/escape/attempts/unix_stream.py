# Connect to a unix socket by its path.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket(socket.AF_UNIX).connect(OUT + "/readable/stream")
