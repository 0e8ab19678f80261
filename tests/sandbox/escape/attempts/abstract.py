# Connect to an abstract unix socket.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket(socket.AF_UNIX).connect("\0" + TAG)
