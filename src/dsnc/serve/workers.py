"""Several processes that answer; one that dies is replaced."""

from uvicorn.supervisors import Multiprocess


class Workers(Multiprocess):
    """Workers of uvicorn, whose death is always seen at once.

    Twice a second each is asked whether it lives, and may take a long time to answer, as when it
    starts. As long as the parent holds the worker's end of the pipe, too, a worker that is killed
    just then looks like one that is slow.
    """

    def keep_subprocess_alive(self) -> None:
        """Replace those that are dead, or silent for too long."""
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()
