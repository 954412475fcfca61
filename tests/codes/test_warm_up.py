import os
import subprocess
import sys

import pytest

USE = """
import numpy as np
import scipy.sparse as sp
from dsnc.codes import CodeTable, Encoded, HammingIndex, PackedCodes
from dsnc.decoders import LinearDecoder, NearestDecoder, ShortlistDecoder, TableDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.predictor import Predictor
from dsnc import DSNCClassifier
from dsnc.data.svmlight import read_svmlight
with open("rows.svm", "w") as file:
    file.write("1 1:0.5 7:2\\n" * 40_000)
read_svmlight("rows.svm")
for n_bits in (5, 36, 64, 100, 200, 300, 600):
    codes = PackedCodes.from_bits(np.random.default_rng(0).random((5000, n_bits)) < 0.5)
    index = HammingIndex(codes)
    index.search(codes.take(slice(0, 300)), k=3)
    index.prepare()
    index.search_classes(codes.take(slice(0, 9)), 4, np.arange(5000) // 10)
    linear = LinearDecoder(np.zeros((5000, n_bits)), np.zeros(5000))
    encoder = NumpyEncoder([Layer(np.eye(n_bits), np.zeros(n_bits))], row_normalize=True)
    predictor = Predictor(encoder, ShortlistDecoder(linear, codes, np.arange(5000)[::-1]))
    X = codes.take(slice(0, 30)).to_signs(float)
    for rows in (X, sp.csr_array(X), sp.csr_matrix(X.astype(np.float32))):
        predictor.predict(rows), predictor.predict(rows[:1]), predictor.top_k(rows[:1], 3)
    if n_bits in (5, 300):
        y = np.arange(60) % 3
        for rows in (np.eye(60, 9), sp.csr_array(np.eye(60, 90)), [f"title {i}" for i in y]):
            DSNCClassifier(n_bits=n_bits, max_epochs=2).fit(rows, y).partial_fit(rows, y)
    if n_bits < 20:
        for largest in (3, 300, 100_000):
            labels = np.arange(5000) % largest
            CodeTable.build(codes, labels).lookup(codes)
            linear = LinearDecoder(np.zeros((largest, n_bits)), np.zeros(largest))
            nearest = NearestDecoder(codes, labels, largest)
            logits = codes.to_signs(np.float32)
            TableDecoder.from_nearest(nearest, linear).predict(Encoded(logits, codes))
"""


@pytest.mark.slow  # two processes; the first compiles every kernel anew
def test_afterwards_nothing_is_left_to_compile(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(*command):
        command = [sys.executable, *command]
        subprocess.run(command, check=True, cwd=tmp_path, env=environment, timeout=300)
        return {path.name for path in tmp_path.rglob("*.nbc")}

    compiled = run("-c", "from dsnc.cli import main; main()", "warm-up", "--training")
    assert compiled
    assert run("-c", USE) == compiled
