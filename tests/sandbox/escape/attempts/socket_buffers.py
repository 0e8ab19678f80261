# Hold memory in the buffers of sockets, in four processes.
import os
import socket
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
for _ in range(3):
    if os.fork() == 0:
        break
held = []
for _ in range(480):
    pair = socket.socketpair()
    for end in pair:
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(65536))
        except BlockingIOError:
            pass
    held.append(pair)
time.sleep(2)
print("BITTEN")
