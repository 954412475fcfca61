"""Who takes part: a name, its class, and the settings that this name stands for."""

from typing import Any

from peers.contestant import Contestant
from peers.contestants.dsnc_classifier import DSNC, DSNCTexts
from peers.contestants.fasttext_supervised import FastText
from peers.contestants.linear_svc import SVC
from peers.contestants.napkinxc_tree import NapkinXC
from peers.contestants.pecos_xlinear import Pecos

CONTESTANTS: dict[str, tuple[type[Contestant], dict[str, Any]]] = {
    "dsnc": (DSNC, {}),
    "dsnc-texts": (DSNCTexts, {}),
    "linear-svc": (SVC, {"C": 1.0}),
    "fasttext": (FastText, {"loss": "softmax", "lr": 1.0, "epoch": 50, "dim": 50}),
    "fasttext-hs": (FastText, {"loss": "hs", "lr": 0.5, "epoch": 50}),
    "napkinxc-plt": (NapkinXC, {}),
    "napkinxc-plt-l2": (NapkinXC, {"loss": "l2", "liblinear_c": 1.0}),
    "pecos-xlinear": (Pecos, {}),
}
