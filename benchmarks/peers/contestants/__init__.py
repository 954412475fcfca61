"""Who takes part: a name, its class, and the settings that this name stands for."""

from typing import Any

from peers.contestant import Contestant
from peers.contestants.centroid_baseline import CentroidBaseline
from peers.contestants.dsnc_classifier import DSNC, DSNCTexts
from peers.contestants.fasttext_supervised import FastText
from peers.contestants.linear_svc import SVC
from peers.contestants.mlp import MLP
from peers.contestants.napkinxc_tree import NapkinXC
from peers.contestants.nearest_centroid import Centroid
from peers.contestants.nearest_neighbors import Neighbors
from peers.contestants.omikuji_trees import Omikuji
from peers.contestants.output_code import OutputCode
from peers.contestants.pecos_xlinear import Pecos
from peers.contestants.sgd import SGD

CONTESTANTS: dict[str, tuple[type[Contestant], dict[str, Any]]] = {
    "dsnc": (DSNC, {}),
    "dsnc-texts": (DSNCTexts, {}),
    "mlp": (MLP, {}),
    "nearest-centroid": (Centroid, {}),
    "centroid-cosine": (CentroidBaseline, {}),
    "nearest-neighbors": (Neighbors, {}),
    "linear-svc": (SVC, {}),
    "sgd": (SGD, {}),
    "output-code": (OutputCode, {}),
    "fasttext": (FastText, {"loss": "softmax", "lr": 1.0, "epoch": 50, "dim": 50}),
    "fasttext-hs": (FastText, {"loss": "hs", "lr": 0.5, "epoch": 50}),
    "napkinxc-plt": (NapkinXC, {}),
    "pecos-xlinear": (Pecos, {}),
    "omikuji": (Omikuji, {}),
}
