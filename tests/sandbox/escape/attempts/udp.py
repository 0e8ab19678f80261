# Send a datagram.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(UDP)))
