# Connect by TCP fast open in sendmsg.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket().sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", int(TCP)))
