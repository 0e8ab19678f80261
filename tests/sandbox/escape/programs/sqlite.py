# A database in a file, with a journal beside it.
import sqlite3

with sqlite3.connect("data.db") as database:
    database.execute("pragma journal_mode=wal")
    database.execute("create table numbers (n integer)")
    database.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
    assert database.execute("select sum(n) from numbers").fetchone() == (499500,)
print("fine")
