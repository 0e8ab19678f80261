"""Tasks: runs that outlive the request that asked for them, accepted by a queue and carried out by a dispatcher.

`queue.py` accepts and tells of tasks, `attempt.py` carries out one attempt of one task in this process, and a
`Dispatcher` decides where and when: `local.py` in child processes of this one, `in_process.py` in this process.
"""
