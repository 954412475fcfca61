"""Ask `dsnc serve` about texts: python client.py http://127.0.0.1:8000 "night nurse" "welder"."""

import sys

import requests


def main(url: str, *texts: str) -> None:
    """Print the three best labels of each text."""
    body = {"inputs": texts, "top_k": 3, "probabilities": True}
    answer = requests.post(f"{url}/predict", json=body, timeout=10)
    answer.raise_for_status()
    found = answer.json()
    for text, labels, shares in zip(texts, found["labels"], found["probabilities"], strict=True):
        print(text, *map("{} ({:.1%})".format, labels, shares), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
