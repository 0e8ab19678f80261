# Send from one end of a datagram pair to a socket that is no part of the pair.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", OUT + "/readable/datagram")
