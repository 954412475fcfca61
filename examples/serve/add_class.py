"""Add a class to a model that is served: python add_class.py http://127.0.0.1:8000 LABEL TEXT...

The service must have been started with --token-file; DSNC_TOKEN holds one of its tokens.
"""

import os
import sys

import requests


def main(url: str, label: str, *texts: str) -> None:
    """Add a class from texts, and print the version that knows it."""
    body = {"inputs": texts, "labels": [label] * len(texts)}
    token = {"Authorization": f"Bearer {os.environ['DSNC_TOKEN']}"}
    answer = requests.post(f"{url}/classes", json=body, headers=token, timeout=600)
    if not answer.ok:
        raise SystemExit(answer.json()["error"])
    found = answer.json()
    print(f"{found['model']} {found['version']}: {found['classes']} classes")


if __name__ == "__main__":
    main(*sys.argv[1:])
