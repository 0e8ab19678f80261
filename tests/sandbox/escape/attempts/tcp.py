# Connect by TCP.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.create_connection(("127.0.0.1", int(TCP))).sendall(b"x")
