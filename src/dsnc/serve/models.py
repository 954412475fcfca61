"""All models of a service: replaced in one step when their folder is, or when classes change."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

from dsnc.errors import DsncError, did_you_mean, shorten
from dsnc.serve.changes import Changes, Outcome, Wish
from dsnc.serve.limits import Refused, busy
from dsnc.serve.log import Log
from dsnc.serve.served import Identity, Served, identity_of
from dsnc.serve.settings import ServeSettings

_STARTING = 100.0  # seconds that a worker waits for a change to be over before it starts
_AGAIN = 15.0  # seconds until a folder that cannot be read is tried again
_EVERY, _SOON = 1.0, 0.05  # seconds between two looks at a folder, and where classes may change
_BEHIND = 20.0  # seconds that a request waits for a version that others have written
_QUEUE = 8  # changes of a worker that wait for others


class Models(dict[str, Served]):
    """All models by name; whoever has taken one keeps it, also when another has its place.

    Settings say which models there are, and whether their classes may change.
    """

    def __init__(self, settings: ServeSettings, log: Log) -> None:
        super().__init__()
        self.settings, self.log = settings, log
        self.changes: dict[str, Changes] = {}
        self._fixed: dict[str, str] = {}  # why classes cannot change
        for name, path in settings.models.items():
            self[name] = self._open(name, path)
        self._next: dict[str, Served] = {}  # read, but not the one to answer with yet
        self._failed: dict[str, tuple[Identity, float]] = {}  # and when to try again
        self._reading = {name: asyncio.Lock() for name in self}
        self._waiting: dict[str, list[tuple[Wish, asyncio.Future[Any]]]] = {}
        self._writers: dict[str, asyncio.Task[None]] = {}

    def _open(self, name: str, path: Path) -> Served:
        """Read a model, and be ready to change its classes if that is wished."""
        served = Served.read(name, path)
        if self.settings.why_fixed or not served.is_open:
            return served
        try:
            changes = self.changes[name] = Changes(name, path)
        except (OSError, DsncError) as error:
            reason = str(getattr(error, "strerror", None) or error).rstrip(".")
            self._fixed[name] = f"The service cannot change the classes of {name}: {reason}."
            return served
        while not changes.adopt(served, _STARTING):
            served = Served.read(name, path)
        return served

    def __missing__(self, name: str) -> Served:
        """Refuse a request for a model that is not there."""
        known = f"{did_you_mean(name, self)} Known: {', '.join(sorted(self))}."
        raise Refused(404, f"There is no model {shorten(name)}.{known}")

    def only(self) -> Served:
        """Return the model, where there is one."""
        if len(self) > 1:
            places = ", ".join(f"/models/{name}/predict" for name in self)
            raise Refused(404, f"Several models are served; use one of {places}.")
        return next(iter(self.values()))

    def why_fixed(self, served: Served) -> str | None:
        """Say why the classes of a model cannot be changed; None where they can."""
        if not served.is_open:
            return f"{served.name} is of kind {served.model.kind!r}, whose classes are fixed."
        return self.settings.why_fixed or self._fixed.get(served.name)

    def is_behind(self, served: Served) -> bool:
        """Tell whether another worker has changed the classes of a model."""
        changes = self.changes.get(served.name)
        return changes is not None and changes.current != served.version

    async def newest(self, name: str) -> Served:
        """Return the model with all changes that were acknowledged."""
        end = time.monotonic() + _BEHIND
        while self.is_behind(self[name]):
            try:
                await self._look(name)
            except (OSError, DsncError, Refused):  # it is replaced, or another change is made
                if time.monotonic() > end:
                    raise busy("The changed model cannot be read yet.") from None
                await asyncio.sleep(_SOON)
        return self[name]

    async def all_newest(self) -> None:
        """Catch up with all changes."""
        for name in self:
            await self.newest(name)

    async def prepare(self) -> None:
        """Load what changes need, before the first one comes."""
        if self.changes:
            import dsnc.fast.new_classes  # noqa: F401
        for changes in self.changes.values():
            with contextlib.suppress(OSError, DsncError, Refused):  # the first change tries again
                await asyncio.to_thread(changes.prepare)

    async def change(self, name: str, wish: Wish) -> tuple[Served, dict[str, Any]]:
        """Change classes; return the changed model, and what was done."""
        waiting = self._waiting.setdefault(name, [])
        if len(waiting) >= _QUEUE:  # they must not keep predictions from coming in
            raise busy("Other classes are being changed.")
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting.append((wish, done))
        if name not in self._writers:
            self._writers[name] = asyncio.create_task(self._write(name))
        told = await done
        return self[name], told

    async def _write(self, name: str) -> None:
        """Make all changes that wait, together, until none does."""
        while batch := [each for each in self._waiting.pop(name, []) if not each[1].done()]:
            outcomes = await self._outcomes(name, [wish for wish, _ in batch])
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if done.cancelled():
                    continue
                if isinstance(outcome, Refused):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)
        del self._writers[name]

    async def _outcomes(self, name: str, wishes: list[Wish]) -> list[Outcome]:
        try:
            new, outcomes = await asyncio.to_thread(
                self.changes[name].change, wishes, self.settings
            )
        except Refused as refused:
            return [refused] * len(wishes)
        except Exception as error:  # as of a full disk
            self.log.note("not changed", level="error", model=name, error=str(error))
            why = busy("The change could not be written; nothing was changed.")
            return [why] * len(wishes)
        if new is not None:
            self[name] = new
            self._next.pop(name, None)
            self.log.note("changed", model=name, version=new.version, changes=len(wishes))
        return outcomes

    async def watch(self) -> None:
        """Look after the folders forever; what they hold now is read before it is asked for.

        A folder that cannot be read, as while it is copied, is tried again when it changes, and
        after a while: the disk may have been full.
        """
        while True:
            await asyncio.sleep(_SOON if self.changes else _EVERY)
            for name in self:
                identity = identity_of(self[name].path)
                failed, until = self._failed.get(name, ((), 0.0))
                if name in self._writers or (identity == failed and time.monotonic() < until):
                    continue
                try:
                    await self._look(name)
                except Refused:
                    continue  # somebody changes classes; later, then
                except Exception as error:  # whatever it is, the model that is there goes on
                    self._failed[name] = identity, time.monotonic() + _AGAIN
                    self.log.note("not reloaded", model=name, error=str(error))

    async def _look(self, name: str) -> None:
        """Read the folder, if it is another than before; answer with it, if all do from now on."""
        async with self._reading[name]:
            new = self._next.get(name, self[name])
            if identity_of(new.path) not in ((), new.identity):
                new = self._next[name] = await asyncio.to_thread(Served.read, name, new.path)
            if new is self[name]:
                return
            changes = self.changes.get(name)
            is_next = changes is None or await asyncio.to_thread(changes.adopt, new, 0.0)
            if is_next and self._next.get(name) is new:  # and no change has been made meanwhile
                is_known = new.version == self[name].version
                self[name] = self._next.pop(name)
                if not is_known:
                    self.log.note("reloaded", model=name, version=new.version)
