"""Who has connected is answered, also when nobody listens any more."""

import http.client
import socket
import threading
import time
from contextlib import ExitStack, closing
from functools import partial

from dsnc.serve.protocol import Patience
from dsnc.serve.workers import DrainConfig, DrainServer

LOOK = 0.2  # seconds; a server looks whether it is to stop after half of that


def test_those_who_wait_to_be_let_in_when_a_server_stops_are_answered():
    stops, have_asked = threading.Event(), threading.Event()

    async def app(scope, receive, send):
        if scope["path"] == "/stop":
            server.should_exit = True
            stops.set()
            have_asked.wait(20)  # nobody is let in meanwhile
            time.sleep(LOOK)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"answered"})

    listener = socket.create_server(("127.0.0.1", 0))
    http = partial(Patience, seconds=5.0)
    config = DrainConfig(app, http=http, loop="uvloop", lifespan="off", log_config=None)
    server = DrainServer(config)
    thread = threading.Thread(target=server.run, args=[[listener]])
    thread.start()
    try:
        with ExitStack() as stack:
            port = listener.getsockname()[1]
            clients = [stack.enter_context(asking(port, "/stop"))]
            assert stops.wait(20)
            clients += [stack.enter_context(asking(port, "/late")) for _ in range(5)]
            have_asked.set()
            assert [client.getresponse().read() for client in clients] == [b"answered"] * 6
    finally:
        server.should_exit = True
        thread.join()


def asking(port, path):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", path)
    return closing(client)
