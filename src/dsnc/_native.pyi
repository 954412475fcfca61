"""The C++ core: see `src/native`."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def level() -> str: ...
def levels() -> str: ...
def use_level(name: str) -> None: ...
def read_numbers(text: Array, starts: Array, numbers: Array) -> bool: ...
def encode_csr(
    indptr: Array,
    indices: Array,
    data: Array,
    weight: Array,
    bias: Array,
    unit: bool,
    logits: Array,
    words: Array,
) -> int: ...
def encode_dense(rows: Array, weight: Array, bias: Array, unit: bool, logits: Array) -> None: ...
def multiply(soft: Array, weight: Array, classes: Array, products: Array) -> None: ...
def line_up(scores: Array, first: int, classes: Array, best: Array) -> None: ...
def make_shortlist(
    index: Index,
    labels: Array | None,
    weight: Array,
    bias: Array,
    closeness: float,
    half: float,
    size: int,
    n_flips: int,
) -> Shortlist: ...

class Index:
    nbytes: int
    def __init__(self, words: Array, n_bits: int, method: str) -> None: ...
    def with_more(self, words: Array) -> Index: ...
    def prepare(self) -> None: ...
    def tables(self) -> tuple[Array, Array, Array] | None: ...
    def use_tables(self, offsets: Array, ids: Array, signatures: Array) -> None: ...
    def search(
        self, queries: Array, keys: Array, owners: Array, labels: Array | None, n_owners: int
    ) -> None: ...

class Shortlist:
    def list(self, logits: Array, classes: Array, costs: Array) -> bool: ...
    def rank(
        self,
        logits: Array,
        words: Array | None,
        widen: bool,
        classes: Array,
        scores: Array,
        inside: Array,
    ) -> bool: ...

def shares(
    confidence: tuple[Any, ...],
    scores: Array,
    counts: Array,
    others: Array,
    found: Array,
    rest: Array,
) -> None: ...
def surest(confidence: tuple[Any, ...], odds: Array, lead: Array, found: Array) -> None: ...

class Predictor:
    def __init__(
        self,
        weight: Array,
        bias: Array,
        unit: bool,
        ranker: Shortlist,
        n_classes: int,
        size: int,
        confidence: tuple[Any, ...],
        second: tuple[ClassVectors, float, float, int, tuple[Any, ...]] | None,
        columns: TextColumns | None,
    ) -> None: ...
    def predict(self, rows: Any) -> Array | None: ...
    def top_k(self, rows: Any, k: int, with_shares: bool) -> tuple[Array, Array] | None: ...

def leave_out(indptr: Array, indices: Array, values: Array, share: float, seed: int) -> int: ...

class Trainer:
    def __init__(
        self,
        weights: Any,
        squares: Any,
        plan: Any,
        batch_size: int,
        n_nearest: int,
        n_threads: int,
    ) -> None: ...
    def read_codes(self) -> None: ...
    def run(self, rows: Any, rates: Array, seed: int, place: int, searches: bool) -> float: ...

# Parts for tests alone, of a build for developers.

def chunks(index: Index) -> list[tuple[int, int, int]]: ...
def probe(index: Index, queries: Array, done: Array, k: int) -> tuple[int, int, int]: ...
def probabilities(out: Array, x: Array, sharpness: float) -> None: ...
def exponentials(x: Array, top: float) -> float: ...
def draw(out: Array, chances: Array, seed: int, place: int) -> None: ...
def move(out: Array, x: Array, factor: float) -> bool: ...
def find_nearest_signs(
    vectors: Array, n_bits: int, first: int, last: int, queries: Array, at_once: int, near: Array
) -> None: ...
def share_out_work(board: Array, sizes: Array) -> int: ...

class TextColumns:
    def __init__(self, grams: Any, others: Any, buckets: Array, idf: Array) -> None: ...
    def rows(self, texts: list[str]) -> tuple[Array, Array, Array]: ...

def count_texts(texts: list[str], grams: Any, others: Any, tally: Array, first: int) -> int: ...

Rows = Array | tuple[Array, Array, Array]  # dense, or indptr, indices and data of a CSR matrix

class ClassVectors:
    def __init__(
        self,
        firsts: Array,
        starts: Array,
        features: Array,
        weights: Array,
        scales: Array,
        bias: Array,
        n_features: int,
        unit_rows: bool,
    ) -> None: ...
    def look(
        self, rows: Rows, classes: Array, scores: Array, mix: float, reach: float, inside: Array
    ) -> None: ...
    def margins(self, rows: Rows, classes: Array, out: Array) -> None: ...

def solve(
    first: int,
    starts: Array,
    rows: Array,
    positive: Array,
    first_class: int,
    features: tuple[Array, ...],
    squares: Array,
    penalty: Array,
    n_features: int,
    settings: dict[str, Any],
    bias: Array,
    room: tuple[Array, Array, Array],
) -> tuple[int, int]: ...
def find_centers(
    rows: Array,
    weight: Array,
    starts: Array,
    firsts: Array,
    seed: int,
    n_passes: int,
    centers: Array,
) -> float: ...
def move_centers(
    rows: Array,
    own: Array,
    weight: Array,
    candidates: Array,
    firsts: Array,
    first_rate: float,
    last_rate: float,
    spread: float,
    seed: int,
    n_movable: int,
    centers: Array,
) -> None: ...
def make_table(codes: Array, labels: Array, table: Array) -> None: ...
