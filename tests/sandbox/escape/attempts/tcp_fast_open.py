# Connect by TCP fast open, without connect.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", int(TCP)))
