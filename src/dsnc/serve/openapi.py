"""The description of the service, for programs; `page` makes it readable."""

from typing import Any

import dsnc
from dsnc.serve import oip
from dsnc.serve.models import Models
from dsnc.serve.served import Served
from dsnc.serve.settings import ServeSettings

Plain = dict[str, Any]
Told = dict[str, tuple[Plain, str]]  # schema and description of what may be asked for
_NUMBERS: Plain = {"type": "array", "items": {"type": "number"}}
_PARAMETERS = "top_k, unknown, unknown_share, binary_data_output"
_LABEL: Plain = {
    "description": "A text or a number, like the labels that the model was trained with."
}


def description(models: Models, settings: ServeSettings) -> Plain:
    """Return the service as OpenAPI 3.1 has it."""
    some = next(iter(models.values()))
    names = ", ".join(f"{served.name} (version {served.version})" for served in models.values())
    described: Plain = {
        "openapi": "3.1.0",
        "info": {
            "title": "dsnc",
            "version": dsnc.__version__,
            "summary": f"Predictions of {names}.",
            "description": _limits(settings),
        },
        "paths": {**_plain_paths(some), **_protocol_paths(), **_page_paths()},
        "components": {"schemas": _schemas(some), "responses": _responses()},
    }
    if settings.tokens:
        scheme = {"type": "http", "scheme": "bearer"}
        described["components"]["securitySchemes"] = {"token": scheme}
        described["security"] = [{"token": []}]
    return described


def _limits(settings: ServeSettings) -> str:
    return (
        f"A request has at most {settings.max_body:,} bytes and {settings.max_rows:,} rows, and "
        f"takes at most {settings.max_seconds:g} seconds; streams of lines may be longer. Bodies "
        "may be compressed with gzip, and answers are if the client accepts that. Every answer "
        "names the version of the model, also in the header X-Model-Version."
    )


def _plain_paths(some: Served) -> Plain:
    predict = {
        "post": {
            "summary": "Predict labels of rows: texts, or vectors.",
            "description": "Other parameters may be given in the JSON body or in the address.",
            "parameters": _options(),
            "requestBody": {"required": True, "content": _contents(some)},
            "responses": _answers("Answer", lines=True),
        }
    }
    named = {**predict, "parameters": [_path("name")]}
    return {
        "/predict": predict,
        "/models/{name}/predict": named,
        **_class_paths(some),
        "/models": _get("List the models, and whether their classes can be changed."),
        "/health": _get("Whether the service is healthy; needs no token."),
        "/metrics": _get("Metrics for Prometheus.", "text/plain"),
        "/openapi.json": _get("This description, for programs."),
        "/docs": _get("This description, for people.", "text/html"),
    }


def _protocol_paths() -> Plain:
    infer = {
        "post": {
            "summary": "Predict with the Open Inference Protocol; tensors may be binary.",
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _ref("Inference")}},
            },
            "responses": _answers("Inferred"),
        }
    }
    paths: Plain = {
        "/v2": _get("About this server, in the Open Inference Protocol."),
        "/v2/health/live": _get("Whether the server is alive; needs no token."),
        "/v2/health/ready": _get("Whether all models are ready; needs no token."),
    }
    for place in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        names = [_path(name) for name in ("name", "version") if f"{{{name}}}" in place]
        about = _get("The inputs and outputs of a model.")
        paths[place] = {**about, "parameters": names}
        paths[f"{place}/ready"] = {**_get("Whether a model is ready."), "parameters": names}
        paths[f"{place}/infer"] = {**infer, "parameters": names}
    return paths


def _class_paths(some: Served) -> Plain:
    """Return what there is about classes, of the one model and by name."""
    page: Told = {
        "query": ({"type": "string"}, "Only labels that contain this text, ignoring case."),
        "offset": ({"type": "integer", "minimum": 0}, "How many to skip."),
        "limit": ({"type": "integer", "minimum": 0}, "How many at most; 100 by default."),
    }
    near: Told = {
        "label": ({"type": "string"}, "Nearest to the code of this class."),
        "code": ({"type": "string"}, "Nearest to this code, in hexadecimal digits."),
        "top_k": ({"type": "integer", "minimum": 1}, "How many; 10 by default."),
    }
    labels = {"type": "array", "items": _LABEL}
    rows = {
        "labels": labels,
        "inputs": {"type": "array", "items": _ref("Row")},
        "descriptions": {
            "type": "array",
            "description": "Instead of rows: texts, or lists of texts, about each class.",
        },
        "attributes": {
            "type": "array",
            "items": _NUMBERS,
            "description": "Instead of rows: numbers, like those known of other classes.",
        },
    }
    example = _example(some)
    told = (
        "Needs a token. The answer comes when the change is in effect for all workers, and names "
    )
    told += "the version; no acknowledged change is lost."
    classes = {
        "get": _listing("List the classes, with their codes.", page),
        "post": {
            "summary": "Add classes, from one or more rows of each, or from descriptions.",
            "description": f"Known classes learn from more rows. {told}",
            "requestBody": _json_body(rows, {"inputs": example, "labels": ["new"] * len(example)}),
            "responses": _answers("Changed", "403"),
        },
        "delete": {
            "summary": "Remove classes.",
            "description": told,
            "requestBody": _json_body({"labels": labels}, {"labels": ["old"]}),
            "responses": _answers("Changed", "403"),
        },
    }
    nearest = {"get": _listing("Find the nearest classes in Hamming distance.", near)}
    named = {"parameters": [_path("name")]}
    return {
        "/classes": classes,
        "/classes/nearest": nearest,
        "/models/{name}/classes": {**classes, **named},
        "/models/{name}/classes/nearest": {**nearest, **named},
    }


def _listing(summary: str, told: Told) -> Plain:
    return {"summary": summary, "parameters": _query(told), "responses": _answers("Classes")}


def _json_body(properties: Plain, example: Plain) -> Plain:
    schema = {"type": "object", "required": ["labels"], "properties": properties}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"required": True, "content": content}


def _page_paths() -> Plain:
    model, words = "/models/{name}/page", "application/octet-stream"
    paths = {
        "/": _get("A page to explore the codes; needs no token, but its data do.", "text/html"),
        "/static/{file}": _get("A file of the page; needs no token.", "text/javascript"),
        model: _get("What the page shows about a model."),
        f"{model}/labels": _get("All labels, in the order of their numbers."),
        f"{model}/codes": _get("The codes of the classes, in 32-bit words.", words),
        f"{model}/map": _get(
            "Places on the map, x and y in 16 bits each; 202 until it is ready.", words
        ),
    }
    for path, item in paths.items():
        if "{" in path:
            item["parameters"] = [_path("file" if "{file}" in path else "name")]
    return paths


def _contents(some: Served) -> Plain:
    """Return the forms of a body."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    numbers = f"{some.n_features:,} numbers per row"
    return {
        "application/json": {
            "schema": _ref("Question"),
            "example": {"inputs": _example(some), "top_k": 3, "probabilities": True},
        },
        "application/x-ndjson": {
            "schema": {**_ref("Row"), "description": "One row per line; answers come as lines."}
        },
        "text/csv": {"schema": {"type": "string", "description": "Comes back with columns added."}},
        "application/octet-stream": {
            "schema": {**binary["schema"], "description": f"float32, little-endian, {numbers}."}
        },
        "application/x-npy": {
            "schema": {**binary["schema"], "description": f"A NumPy array, {numbers}."}
        },
    }


def _example(some: Served) -> list[Any]:
    if some.takes_text:
        return ["a text", "another"] if some.takes_lines else [some.model.records.example]
    if some.n_features > 8:
        return [{"indices": [0, 7], "values": [1.5, 2]}]
    return [[0.5] * some.n_features]


def _schemas(some: Served) -> Plain:
    sparse = {
        "type": "object",
        "description": "A row of mostly zeros; features are numbered from 0.",
        "required": ["indices", "values"],
        "properties": {"indices": {"type": "array", "items": {"type": "integer"}}}
        | {"values": _NUMBERS},
    }
    record = {"type": "object", "description": "A value for each column."}
    record |= {"required": some.model.records.names}
    rows = {"description": "A text, a vector, its features that are not 0, or a value by column."}
    rows["anyOf"] = [{"type": "string"}, _NUMBERS, sparse, record]  # type: ignore[assignment]
    inputs = {"type": "array", "items": _ref("Row")}
    options = {
        one["name"]: {**one["schema"], "description": one["description"]} for one in _options()
    }
    of_rows = {"type": "array", "description": "One for each row; with top_k, a list."}
    return {
        "Row": rows,
        "Question": {
            "type": "object",
            "required": ["inputs"],
            "additionalProperties": False,
            "properties": {"inputs": inputs, **options},
        },
        "Answer": _object(
            {
                "labels": {**of_rows, "items": _LABEL},
                "probabilities": of_rows,
                "explanations": {"type": "array", "items": {"type": "object"}},
            }
        ),
        "Classes": _object(
            {"total": {"type": "integer", "description": "Number on all pages; only in a listing."}}
            | {"classes": {"type": "array", "items": _ref("Class")}}
        ),
        "Class": {
            "type": "object",
            "properties": {
                "label": _LABEL,
                "number": {"type": "integer"},
                "code": {"type": ["string", "null"], "description": "Hexadecimal, bit 0 first."},
                "distance": {
                    "type": "integer",
                    "description": "Number of bits that differ; only for nearest classes.",
                },
            },
        },
        "Changed": _object(
            {"classes": {"type": "integer", "description": "Number of classes now."}}
            | {name: {"type": "array", "items": _LABEL} for name in ("added", "removed")}
        ),
        "Inference": _tensors("inputs", oip.about_model(some)["inputs"]),
        "Inferred": _tensors("outputs", oip.about_model(some)["outputs"]),
        "Error": {"type": "object", "properties": {"error": {"type": "string"}}},
    }


def _object(properties: Plain) -> Plain:
    """Return the schema of an answer, all of which name the model."""
    text = {"type": "string"}
    properties = {"model": text, "version": text, **properties}
    return {"type": "object", "required": ["model", "version"], "properties": properties}


def _tensors(name: str, example: list[Plain]) -> Plain:
    tensor = {
        "type": "object",
        "required": ["name", "shape", "datatype"],
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer"}},
            "datatype": {"type": "string", "examples": [one["datatype"] for one in example]},
            "data": {"type": "array"},
            "parameters": {"type": "object"},
        },
    }
    return {
        "type": "object",
        "required": [name],
        "properties": {
            name: {"type": "array", "items": tensor},
            "id": {"type": "string"},
            "parameters": {"type": "object", "description": _PARAMETERS},
        },
    }


def _options() -> list[Plain]:
    told: Told = {
        "top_k": (
            {"type": "integer", "minimum": 1},
            "Return a list of this many labels for each row, best first.",
        ),
        "probabilities": ({"type": "boolean"}, "Return the probabilities of the labels, too."),
        "unknown": (
            {"type": ["string", "number"]},
            "The label for rows that seem to belong to no class; they have no probability.",
        ),
        "unknown_share": (
            {"type": "number", "minimum": 0, "maximum": 1},
            "The share of rows of known classes that may be taken for unknown; 0.05 by default.",
        ),
        "explain": (
            {"type": ["boolean", "integer"]},
            "Explain each answer; a number says how many of the largest terms to return.",
        ),
    }
    return _query(told)


def _query(told: Told) -> list[Plain]:
    return [
        {"name": name, "in": "query", "schema": schema, "description": text}
        for name, (schema, text) in told.items()
    ]


def _answers(schema: str, *more: str, lines: bool = False) -> Plain:
    content: Plain = {"application/json": {"schema": _ref(schema)}}
    if lines:
        content |= {"application/x-ndjson": {}, "text/csv": {}}
    statuses = ("400", "401", *more, "404", "413", "415", "429", "503")
    return {
        "200": {"description": "The answer.", "content": content},
        **{status: {"$ref": f"#/components/responses/{status}"} for status in statuses},
    }


def _responses() -> Plain:
    told = {
        "400": "The request cannot be understood; 'error' says what is wrong.",
        "401": "The token is missing or wrong.",
        "403": "Classes cannot be changed; 'error' says why.",
        "404": "There is no such model, or version.",
        "413": "Too many bytes or rows.",
        "415": "The type of the body is not known.",
        "429": "Too many requests at a time: try again after Retry-After seconds.",
        "503": "The server is overloaded, or took too long: try again after Retry-After seconds.",
    }
    content = {"application/json": {"schema": _ref("Error")}}
    return {status: {"description": text, "content": content} for status, text in told.items()}


def _get(summary: str, media_type: str = "application/json") -> Plain:
    answer = {"description": "The answer.", "content": {media_type: {}}}
    return {"get": {"summary": summary, "responses": {"200": answer}}}


def _path(name: str) -> Plain:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _ref(name: str) -> Plain:
    return {"$ref": f"#/components/schemas/{name}"}
