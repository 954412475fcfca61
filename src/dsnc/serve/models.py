"""All models of a service: replaced in one step when their folder is, or when classes change."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dsnc.errors import DsncError, InputError
from dsnc.serve.changes import STARTING, Changes, Note
from dsnc.serve.journal import Journal
from dsnc.serve.refusals import Refused, busy
from dsnc.serve.served import Identity, Served, identity_of
from dsnc.serve.settings import ServeSettings, unknown_model

_AGAIN = 15.0  # seconds until a folder that cannot be read is tried again
_EVERY = 1.0  # seconds between two looks at a folder
_FOLLOWS = 0.05  # seconds between two looks whether classes have changed
_QUEUE = 8  # changes of a worker that wait for others
_PATIENCE = 20.0  # seconds that a change waits for others of this worker


def _silent(event: str, **facts: Any) -> None:
    pass


class Models(Mapping[str, Served]):
    """All models by name; whoever has taken one keeps it, also when another has its place.

    Settings say which models there are, and whether their classes may change; `note` writes a line
    to the log.
    """

    def __init__(self, settings: ServeSettings, note: Note = _silent) -> None:
        self.settings, self.note = settings, note
        self.changes: dict[str, Changes] = {}
        self._fixed: dict[str, str] = {}  # why classes cannot change
        self._served: dict[str, Served] = {}
        for name, path in settings.models.items():
            self._served[name] = self._open(name, path)
        self._reading = {name: asyncio.Lock() for name in self._served}
        self._writing = {name: asyncio.Lock() for name in self._served}
        self._n_changing = 0  # requests that wait for their turn
        self._ours: dict[str, Identity] = {}  # folders that the journal knows

    def _open(self, name: str, path: Path) -> Served:
        """Bring what was acknowledged to the folder, and be ready for more if that is wished."""
        journal = Journal(path)
        must = journal.exists and journal.n_bytes > 0
        if not must and (self.settings.why_fixed or not path.is_dir()):
            return Served.read(name, path)
        changes = Changes(name, path, self.note)
        try:
            changes.open()
        except (OSError, DsncError) as error:
            if must:
                raise InputError(
                    f"{journal.folder}: changes that were acknowledged cannot be written to the "
                    f"model's folder ({error}); fix that, or move {journal.folder.name} away."
                ) from error
            reason = getattr(error, "strerror", None) or error
            self._fixed[name] = f"The service cannot change the classes of {name}: {reason}."
            return Served.read(name, path)
        served = Served.read(name, path)
        while not changes.replaced(served, STARTING):
            served = Served.read(name, path)
        if not self.settings.why_fixed:
            self.changes[name] = changes
        return served

    def __getitem__(self, name: str) -> Served:
        """Return a model, or refuse the request."""
        served = self._served.get(name)
        if served is None:
            raise Refused(404, unknown_model(name, self._served))
        return served

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._served)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self._served)

    def only(self) -> Served:
        """Return the model, where there is one."""
        if len(self._served) > 1:
            places = ", ".join(f"/models/{name}/predict" for name in self._served)
            raise Refused(404, f"Several models are served; use one of {places}.")
        return next(iter(self._served.values()))

    def why_fixed(self, served: Served) -> str | None:
        """Say why the classes of a model cannot be changed; None where they can."""
        if not served.is_open:
            return f"{served.name} is of kind {served.model.kind!r}, whose classes are fixed."
        return self.settings.why_fixed or self._fixed.get(served.name)

    def is_behind(self, served: Served) -> bool:
        """Tell whether another worker has changed the classes of a model."""
        changes = self.changes.get(served.name)
        return changes is not None and changes.journal.current != served.version

    async def newest(self, name: str) -> Served:
        """Return the model with all changes that were acknowledged."""
        async with self._reading[name]:
            served = self._served[name]
            if self.is_behind(served):
                new = await asyncio.to_thread(self.changes[name].newest, served)
                self._served[name] = new
                self.note("reloaded", model=name, version=new.version)
        return self._served[name]

    async def all_newest(self) -> None:
        """Catch up with all changes."""
        for served in list(self._served.values()):
            if self.is_behind(served):
                await self.newest(served.name)

    async def change(self, name: str, kind: str, body: str, most: int) -> Any:
        """Change classes; return the changed model, and what was done."""
        if self._n_changing >= _QUEUE:  # they must not keep predictions from coming in
            raise busy("Other classes are being changed.")
        self._n_changing += 1
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._writing[name].acquire()
        except TimeoutError:
            raise busy("Other classes are being changed.") from None
        finally:
            self._n_changing -= 1
        try:
            served, changes = self._served[name], self.changes[name]
            new, told = await asyncio.to_thread(changes.change, served, kind, body, most)
            self._served[name] = new
            return new, told
        finally:
            self._writing[name].release()

    async def follow(self, every: float = _FOLLOWS) -> None:
        """Read what other workers change, for ever, before it is answered: no request waits."""
        read = dict.fromkeys(self.changes, "")
        for name, changes in self.changes.items():
            with contextlib.suppress(OSError):
                changes.journal.has_read(self._served[name].version)
        while self.changes:
            await asyncio.sleep(every)
            for name, changes in self.changes.items():
                version = changes.journal.coming
                with contextlib.suppress(OSError, DsncError, Refused):  # whoever asks will be told
                    if version != read[name]:
                        read[name] = version
                        await asyncio.to_thread(changes.prepare, self._served[name])
                    await self.newest(name)

    async def watch(self, every: float = _EVERY) -> None:
        """Look after the folders for ever; one that has changed is read, and takes the place.

        A folder that cannot be read, as while it is copied, is tried again when it changes, and
        after a while: the disk may have been full.
        """
        failed: dict[str, tuple[Identity, float]] = {}
        while True:
            await asyncio.sleep(every)
            for changes in self.changes.values():
                await asyncio.to_thread(changes.fold)
            for name, served in list(self._served.items()):
                identity, now = identity_of(served.path), time.monotonic()
                before, when = failed.get(name, ((), 0.0))
                if identity in ((), served.identity, self._ours.get(name)):
                    continue
                if identity == before and now < when:
                    continue
                try:
                    await self._replace(name, served, identity)
                except Refused:
                    continue  # somebody changes classes; later, then
                except Exception as error:  # whatever it is, the model that is there goes on
                    failed[name] = identity, now + _AGAIN
                    self.note("not reloaded", model=name, error=str(error))

    async def _replace(self, name: str, served: Served, identity: Identity) -> None:
        """Read a folder that has changed, unless it is our own doing."""
        changes = self.changes.get(name)
        if changes is not None and await asyncio.to_thread(changes.knows):
            self._ours[name] = identity
            return
        new = await asyncio.to_thread(Served.read, name, served.path)
        if changes is not None and not await asyncio.to_thread(changes.replaced, new):
            return
        self._served[name] = new
        self.note("reloaded", model=name, version=new.version)

    async def close(self) -> None:
        """Bring all changes to the folders."""
        for changes in self.changes.values():
            changes.journal.has_read(None)
            await asyncio.to_thread(changes.fold, at_once=True)
