# Send to a unix socket by its path.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", OUT + "/readable/datagram")
