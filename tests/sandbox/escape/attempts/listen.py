# Wait for connections.
import socket
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
with socket.socket() as door:
    door.bind(("127.0.0.1", 0))
    door.listen()
    print("BITTEN")
