# An event loop with tasks, a thread and a child process.
import asyncio
import sys


async def main():
    assert await asyncio.gather(asyncio.sleep(0, 1), asyncio.to_thread(lambda: 2)) == [1, 2]
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(3)", stdout=asyncio.subprocess.PIPE)
    assert (await child.communicate())[0] == b"3\n"


asyncio.run(main())
print("fine")
