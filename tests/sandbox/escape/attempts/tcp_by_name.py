# Connect by a name.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.create_connection(("localhost", int(TCP)))
