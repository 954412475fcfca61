"""Who does the work: small requests are answered at once, large ones in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dsnc.serve.limits import busy
from dsnc.threads import n_cores

SMALL, SMALL_ARRAY = 1 << 13, 1 << 19  # bytes of text and of numbers that take a millisecond or two
FEW = 256  # labels that do, too
PATIENCE = 0.4  # seconds that a large request waits for a thread

T = TypeVar("T")


class Crew:
    """Some threads, and a queue that is never long.

    Whoever waits longer than a moment is sent away: it is not the number of requests before him
    that counts but how long they take.
    """

    def __init__(self, workers: int) -> None:
        self.n = max(2, n_cores() // workers)
        self._pool = ThreadPoolExecutor(self.n, "dsnc-serve")
        self._slots = asyncio.Semaphore(self.n)

    async def run(self, work: Callable[[], T], patience: float = PATIENCE) -> T:
        """Do the work in a thread; a place is free again when it is over, also if nobody waits."""
        try:
            async with asyncio.timeout(patience):
                await self._slots.acquire()
        except TimeoutError:
            raise busy("All threads are busy.") from None
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._over)
        return await asyncio.shield(future)

    def _over(self, future: "asyncio.Future[T]") -> None:
        self._slots.release()
        if not future.cancelled():
            future.exception()  # somebody has seen it, then

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
