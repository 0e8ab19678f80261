# Ask the kernel for the addresses of the machine.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
socket.socket(16, socket.SOCK_RAW, 0)
print("BITTEN")
