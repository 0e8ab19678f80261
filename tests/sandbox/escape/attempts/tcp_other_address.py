# Connect to another address of the loopback.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.create_connection(("127.0.0.2", int(TCP)))
