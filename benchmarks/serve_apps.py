"""Services beside which `bench_serve` measures ours: ``serve_apps.py NAME PORT MODEL``.

- ``bare``: Starlette; parses the body and answers as many labels, and predicts nothing;
- ``bare_predicts``: the same, and predicts. What it takes longer is the prediction's;
- ``fastapi``: what one writes for a scikit-learn pipeline with FastAPI and pydantic. MODEL is a
  pickle of it, which the benchmark has written.
"""

import pickle
import sys
from typing import Any

import numpy as np
import uvicorn

import dsnc


def starlette_app(model: Any, predicts: bool) -> Any:
    """Return the barest app that takes the same bodies."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    label = model.classes_[:1].tolist()

    async def predict(request: Request) -> JSONResponse:
        if request.headers.get("content-type") == "application/octet-stream":
            values = np.frombuffer(await request.body(), dtype="<f4")
            rows = values.reshape(-1, model.n_features_in_)
        else:
            rows = (await request.json())["inputs"]
        if not predicts:
            labels = label * len(rows)
        elif isinstance(rows[0], str):
            labels = model.predict(rows).tolist()
        else:
            labels = model.predict(np.asarray(rows)).tolist()
        return JSONResponse({"model": "model", "version": "0123456789abcdef", "labels": labels})

    return Starlette(routes=[Route("/predict", predict, methods=["POST"])])


def fastapi_app(path: str) -> Any:
    """Return what a user would write."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    with open(path, "rb") as file:
        pipeline = pickle.load(file)
    app = FastAPI()

    class Question(BaseModel):
        inputs: list[str] | list[list[float]]

    class Answer(BaseModel):
        labels: list[int]

    @app.post("/predict")
    def predict(question: Question) -> Answer:
        return Answer(labels=pipeline.predict(question.inputs).tolist())

    return app


def main(name: str, port: int, path: str) -> None:
    """Serve."""
    app = fastapi_app(path) if name == "fastapi" else None
    app = app or starlette_app(dsnc.load(path), name == "bare_predicts")
    uvicorn.run(app, port=port, log_level="error", access_log=False, loop="uvloop")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
