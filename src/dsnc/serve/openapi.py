"""All addresses, each in one place, and their description for programs.

What bodies and answers hold is in the structs that read and write them.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

import dsnc
from dsnc.serve import answers, bodies, classes, oip
from dsnc.serve.models import Models
from dsnc.serve.options import Options
from dsnc.serve.settings import ServeSettings

JSON, BYTES = "application/json", "application/octet-stream"
_SCHEMAS = "#/components/schemas/{name}"
Plain = dict[str, Any]


class Error(Struct):
    """What every refusal says."""

    error: str


class Address(NamedTuple):
    """What is done at an address, by the handler of that name."""

    method: str
    path: str
    handler: str
    summary: str
    answer: Any = dict  # a struct, or the type of what is no JSON
    query: type[Struct] | None = None
    body: type[Struct] | None = None


_PLAIN = (
    Address("post", "/predict", "predict", "Predict labels of rows: texts, or vectors. Options may "
            "be in the JSON body or in the address.", answers.Answer, Options, bodies.Question),
    Address("get", "/classes", "classes", "List the classes, with their codes.", classes.Classes,
            classes.Listing),
    Address("post", "/classes", "add", "Add classes, from one or more rows of each, or from "
            "descriptions; known classes learn from more rows. Needs a token. The answer comes "
            "when the change is in effect for all workers; no acknowledged change is lost.",
            classes.Changed, None, bodies.Addition),
    Address("delete", "/classes", "remove", "Remove classes. Needs a token.", classes.Changed, None,
            bodies.Removal),
    Address("get", "/classes/nearest", "nearest", "Find the nearest classes in Hamming distance.",
            classes.Classes, classes.Nearest),
)  # fmt: skip
_PROTOCOL = (
    Address("get", "", "about_model", "The inputs and outputs of a model."),
    Address("get", "/ready", "ready", "Whether a model is ready.", ""),
    Address("post", "/infer", "infer", "Predict with the Open Inference Protocol; tensors may be "
            "binary.", oip.Inferred, None, oip.Inference),
)  # fmt: skip
ADDRESSES = (
    *_PLAIN,
    *(each._replace(path=f"/models/{{name}}{each.path}") for each in _PLAIN),
    Address("get", "/models", "list_models", "List the models, and whether their classes can be "
            "changed."),
    Address("get", "/health", "health", "Whether the service is healthy; needs no token."),
    Address("get", "/metrics", "metrics", "Metrics for Prometheus.", "text/plain"),
    Address("get", "/openapi.json", "openapi", "This description."),
    Address("get", "/v2", "about_server", "About this server, in the Open Inference Protocol."),
    Address("get", "/v2/health/live", "live", "Whether the server is alive; needs no token.", ""),
    Address("get", "/v2/health/ready", "ready", "Whether the server takes requests; needs no "
            "token.", ""),
    *(
        each._replace(path=f"/v2/models/{{name}}{version}{each.path}")
        for version in ("", "/versions/{version}")
        for each in _PROTOCOL
    ),
    Address("get", "/", "page", "A page to explore the codes; needs no token, but its data do.",
            "text/html"),
    Address("get", "/static/{file}", "page", "A file of the page; needs no token.",
            "text/javascript"),
    Address("get", "/models/{name}/page/{part}", "page_part", "What the page shows of a model: "
            "facts, labels, codes in 32-bit words, or a map: x and y of each class in 16 bits, 202 "
            "until it is ready.", BYTES),
)  # fmt: skip
_REFUSED = {
    400: "The request cannot be understood; 'error' says what is wrong.",
    401: "The token is missing or wrong.",
    403: "Classes cannot be changed; 'error' says why.",
    404: "There is no such model, or version.",
    405: "This address has other methods; the header Allow names them.",
    408: "The body came too slowly.",
    413: "Too many bytes, rows or answers.",
    415: "The type of the body is not known.",
    421: "The service is not called by this name; see --allowed-host.",
    429: "Too many requests at a time: try again after Retry-After seconds.",
    431: "The head of the request is too long.",
    503: "Overloaded, about to stop, or too slow: try again after Retry-After seconds.",
}
_OF_BODIES = (403, 408, 413, 415)  # refusals that only requests with a body may get


def description(models: Models, settings: ServeSettings) -> Plain:
    """Return the service as OpenAPI 3.1 has it."""
    names = ", ".join(f"{served.name} (version {served.version})" for served in models.values())
    paths: Plain = {}
    for address in ADDRESSES:
        paths.setdefault(address.path, {})[address.method] = _operation(address, list(models))
    described: Plain = {
        "openapi": "3.1.0",
        "info": {
            "title": "dsnc",
            "version": dsnc.__version__,
            "summary": f"Predictions of {names}.",
            "description": _limits(settings),
        },
        "paths": paths,
        "components": {"schemas": _schemas()},
    }
    if settings.tokens:
        scheme = {"type": "http", "scheme": "bearer"}
        described["components"]["securitySchemes"] = {"token": scheme}
        described["security"] = [{"token": []}]
    return described


def _limits(settings: ServeSettings) -> str:
    return (
        f"A request has at most {settings.max_body:,} bytes and {settings.max_rows:,} rows, is "
        f"answered with at most {settings.max_answers:,} labels, and takes at most "
        f"{settings.max_seconds:g} seconds; streams of lines may be longer. Bodies may be "
        "compressed with gzip, and answers are if the client accepts that. Every answer names the "
        "version of the model, also in the header X-Model-Version."
    )


def _operation(address: Address, names: list[str]) -> Plain:
    """Return the description of an address and a method."""
    responses: Plain = {"200": {"description": "The answer.", "content": _answer(address)}}
    for status, why in _REFUSED.items():
        if address.body is not None or status not in _OF_BODIES:
            content = {JSON: {"schema": _ref(Error)}}
            responses[str(status)] = {"description": why, "content": content}
    if address.handler == "page_part":
        responses["202"] = {"description": "It is being computed; ask again."}
    found: Plain = {"summary": address.summary, "responses": responses}
    if parameters := _parameters(address, names):
        found["parameters"] = parameters
    if address.body is not None:
        found["requestBody"] = {"required": True, "content": _contents(address)}
    if address.path in ("/", "/health", "/static/{file}") or "/v2/health" in address.path:
        found["security"] = []
    return found


def _answer(address: Address) -> Plain:
    """Return the forms of an answer."""
    if isinstance(address.answer, str):
        return {address.answer: {}} if address.answer else {}
    if address.answer is dict:
        return {JSON: {"schema": {"type": "object"}}}
    found: Plain = {JSON: {"schema": _ref(address.answer)}}
    if address.handler == "predict":
        found |= {"application/x-ndjson": {}, "text/csv": {}}
    return found | ({BYTES: {}} if address.handler == "infer" else {})


def _parameters(address: Address, names: list[str]) -> list[Plain]:
    """Return what stands in an address; only of models is there a list."""
    parts = [part[1:-1] for part in address.path.split("/") if part.startswith("{")]
    text = {"type": "string"}
    found: list[Plain] = [
        {"name": part, "in": "path", "required": True, "schema": text} for part in parts
    ]
    if "name" in parts:
        found[0]["schema"] = {**text, "enum": names}
    if address.query is not None:
        (_,), components = msgspec.json.schema_components([address.query])
        schema = components[address.query.__name__]
        found += [
            {"name": name, "in": "query", "required": name in schema["required"], "schema": about}
            for name, about in schema["properties"].items()
        ]
    return found


def _contents(address: Address) -> Plain:
    """Return the forms of a body."""
    found: Plain = {JSON: {"schema": _ref(address.body)}}
    if address.handler == "infer":
        found[BYTES] = {"schema": {"description": "JSON, and behind it the bytes of tensors."}}
    if address.handler != "predict":
        return found
    forms = {
        "application/x-ndjson": "One row per line; answers come as lines.",
        "text/csv": "Comes back with columns added.",
        BYTES: "float32, little-endian; GET /models says how many a row has, as 'features'.",
    }
    return found | {form: {"schema": {"description": about}} for form, about in forms.items()}


def _schemas() -> Plain:
    """Return the schemas of all structs, and of a row, which is read by a model."""
    structs = {struct for each in ADDRESSES for struct in (each.answer, each.body)}
    named = [each for each in structs if isinstance(each, type) and issubclass(each, Struct)]
    named = sorted(named, key=lambda each: each.__name__)
    _, found = msgspec.json.schema_components([*named, bodies.Sparse, Error], ref_template=_SCHEMAS)
    record = {"type": "object", "description": "A value for each of the 'columns' of GET /models."}
    numbers = {"type": "array", "items": {"type": "number"}}
    row = {"description": "A text, a vector, its features that are not 0, or a value by column."}
    found["Row"] = {**row, "anyOf": [{"type": "string"}, numbers, _ref(bodies.Sparse), record]}
    return found


def _ref(struct: Any) -> Plain:
    return {"$ref": _SCHEMAS.format(name=struct.__name__)}
