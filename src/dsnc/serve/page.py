"""The description as a page: plain, readable, nothing from elsewhere and no script."""

import base64
import hashlib
import json
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; font-family: ui-monospace, monospace; }
h2 b { color: #0a7d6c; margin-right: .6rem; }
table { border-collapse: collapse; margin: .6rem 0; }
td, th { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
td:first-child, pre, code { font-family: ui-monospace, monospace; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: .3rem; }
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGE_HEADERS = {
    b"content-type": b"text/html; charset=utf-8",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": f"{_POLICY}; style-src 'sha256-{_DIGEST}'".encode(),
}


def page(described: dict[str, Any]) -> str:
    """Return a description in OpenAPI as HTML."""
    info = described["info"]
    parts = [f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"]
    parts += [f"<p>{escape(info['summary'])}</p>", f"<p>{escape(info['description'])}</p>"]
    parts.append('<p>For programs: <a href="openapi.json">openapi.json</a>.</p>')
    for path, item in described["paths"].items():
        for method in ("get", "post", "delete"):
            if method in item:
                parts += _operation(path, method, item[method])
    parts.append("<h1>Errors</h1><table>")
    for status, response in described["components"]["responses"].items():
        parts.append(_row(status, response["description"]))
    parts.append("</table>")
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>dsnc</title>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    return f"{head}{view}<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"


def _operation(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    parts = [f"<h2><b>{method.upper()}</b>{escape(path)}</h2>"]
    parts.append(
        f"<p>{escape(operation['summary'])} {escape(operation.get('description', ''))}</p>"
    )
    if operation.get("parameters"):
        rows = (_row(one["name"], one["description"]) for one in operation["parameters"])
        parts.append(f"<table>{''.join(rows)}</table>")
    contents = operation.get("requestBody", {}).get("content", {})
    if len(contents) > 1:
        rows = (
            _row(kind, content["schema"].get("description", "As below."))
            for kind, content in contents.items()
        )
        parts.append(f"<table>{''.join(rows)}</table>")
    for content in contents.values():
        if "example" in content:
            parts.append(f"<pre>{escape(json.dumps(content['example'], indent=1))}</pre>")
    return parts


def _row(name: str, text: str) -> str:
    return f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>"
