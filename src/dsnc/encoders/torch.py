"""Encoders that are trained: linear, several layers, or a module of the user's own.

Rows reach an encoder as a dense tensor or as `SparseRows`. A sparse row is never made dense: its
product with the first layer is a weighted sum of that layer's rows, an embedding bag.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.errors import InputError, require, unknown_name

require("torch", extra="torch", caller="dsnc.encoders.torch")

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SparseRows(NamedTuple):
    """Rows of a CSR matrix, as tensors, in the layout of ``torch.nn.functional.embedding_bag``.

    Attributes
    ----------
    indices : Tensor
        The columns of all nonzero values, row by row.
    offsets : Tensor
        Where each row starts in `indices` and `values`.
    values : Tensor
        The nonzero values.
    """

    indices: Tensor
    offsets: Tensor  # where each row starts
    values: Tensor


Rows = Tensor | SparseRows


Layers = list[tuple[NDArray[np.float32], NDArray[np.float32], str]]
"""Weight (inputs, outputs), bias and activation of each layer, for a runtime without torch."""


def embedding_bag(rows: SparseRows, weight: Tensor) -> Tensor:
    """Multiply sparse rows by a matrix."""
    return F.embedding_bag(
        rows.indices, weight, rows.offsets, mode="sum", per_sample_weights=rows.values
    )


class InputLayer(nn.Module):
    """Affine map of dense or sparse rows, with the scaling of dense features inside.

    The scaling (x - mean) / deviation is fixed before training and folded into the weights on
    export, so that X itself is never copied.
    """

    mean: Tensor
    inverse_deviation: Tensor

    def __init__(
        self, n_features: int, n_outputs: int, generator: torch.Generator, *, std: float
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_features, n_outputs))
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        self.register_buffer("mean", torch.zeros(0))
        self.register_buffer("inverse_deviation", torch.ones(0))
        nn.init.normal_(self.weight, std=std, generator=generator)
        self.bag: Callable[[SparseRows, Tensor], Tensor] = embedding_bag

    def scale(self, mean: NDArray[Any], deviation: NDArray[Any]) -> None:
        """Standardize dense features from now on; a constant feature is only centered."""
        # What float32 cannot tell from the mean is rounding, not a deviation.
        varies = deviation > np.finfo(np.float32).eps * np.abs(mean)
        safe = np.where(varies, deviation, 1.0)
        self.mean = torch.as_tensor(mean, dtype=torch.float32)
        self.inverse_deviation = torch.as_tensor(1.0 / safe, dtype=torch.float32)

    def forward(self, rows: Rows) -> Tensor:
        """Map rows to outputs."""
        if isinstance(rows, SparseRows):
            weight: Tensor = self.weight
            bias: Tensor = self.bias
            if len(self.mean):  # scale the weights instead: centered rows would be dense
                weight = weight * self.inverse_deviation[:, None]
                bias = bias - self.mean @ weight
                return embedding_bag(rows, weight) + bias
            return self.bag(rows, weight) + bias
        if len(self.mean):
            rows = (rows - self.mean) * self.inverse_deviation
        return torch.addmm(self.bias, rows, self.weight)

    def export(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weight and bias for rows that are not scaled."""
        weight, bias = _numpy(self.weight), _numpy(self.bias)
        if len(self.mean):
            weight *= _numpy(self.inverse_deviation)[:, None]
            bias -= _numpy(self.mean) @ weight
        return weight, bias

    def load(self, weight: NDArray[Any], bias: NDArray[Any]) -> None:
        """Take over a map of rows that are not scaled; what scales them here goes on doing so."""
        weight, bias = weight.astype(np.float64), bias.astype(np.float64)
        if len(self.mean):
            bias = bias + _numpy(self.mean) @ weight
            weight = weight / _numpy(self.inverse_deviation)[:, None]
        _load(self, weight, bias)


class Affine(nn.Module):
    """A dense affine map whose first weights come from a generator of the run."""

    def __init__(self, n_inputs: int, n_outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_inputs)
        self.weight = nn.Parameter(torch.empty(n_inputs, n_outputs))
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Map rows to outputs."""
        return torch.addmm(self.bias, x, self.weight)


class BatchNorm(nn.BatchNorm1d):
    """Batch normalization that takes a lone row, which has no variance, as it does in prediction.

    The last batch of an epoch, or a process's part of it, may be as short as that.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalize."""
        if self.training and len(x) < 2:
            return F.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(x)


class LinearEncoder(nn.Module):
    """The paper's encoder: one affine map."""

    def __init__(
        self, n_features: int, n_bits: int, generator: torch.Generator, *, std: float
    ) -> None:
        super().__init__()
        self.input = InputLayer(n_features, n_bits, generator, std=std)

    def forward(self, rows: Rows) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.input(rows)
        return logits

    def load_layers(self, layers: Layers) -> None:
        """Take over a map that `layers` gave, to train it further."""
        self.input.load(*layers[0][:2])

    def layers(self) -> Layers:
        """Return the trained map for numpy."""
        weight, bias = self.input.export()
        return [(weight.astype(np.float32), bias.astype(np.float32), "none")]


class MLPEncoder(nn.Module):
    """Hidden layers of rectified units before the logits, with batch normalization if wanted."""

    def __init__(
        self,
        n_features: int,
        n_bits: int,
        generator: torch.Generator,
        *,
        std: float,
        hidden: Sequence[int] = (1024,),
        normalize: bool = True,
    ) -> None:
        super().__init__()
        if not hidden or any(width < 1 for width in hidden):
            raise InputError(f"hidden={hidden!r}: give one or more widths of 1 or more.")
        self.input = InputLayer(n_features, hidden[0], generator, std=std)
        sizes = [*hidden, n_bits]
        self.affine = nn.ModuleList(
            Affine(a, b, generator) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.norms = nn.ModuleList(
            BatchNorm(width) if normalize else nn.Identity() for width in hidden
        )

    def forward(self, rows: Rows) -> Tensor:
        """Return the logits."""
        x: Tensor = self.input(rows)
        for norm, affine in zip(self.norms, self.affine, strict=True):
            x = affine(F.relu(norm(x)))
        return x

    def load_layers(self, layers: Layers) -> None:
        """Take over a map that `layers` gave, to train it further without normalization."""
        self.norms = nn.ModuleList(nn.Identity() for _ in self.norms)
        self.input.load(*layers[0][:2])
        for module, (weight, bias, _) in zip(self.affine, layers[1:], strict=True):
            _load(module, weight, bias)

    def layers(self) -> Layers:
        """Return the trained map for numpy, batch normalization folded into the affine maps."""
        weight, bias = self.input.export()
        layers: Layers = []
        for norm, affine in zip(self.norms, self.affine, strict=True):
            if isinstance(norm, nn.BatchNorm1d):
                weight, bias = _fold(norm, weight, bias)
            layers.append((weight.astype(np.float32), bias.astype(np.float32), "relu"))
            weight, bias = _numpy(affine.weight), _numpy(affine.bias)
        layers.append((weight.astype(np.float32), bias.astype(np.float32), "none"))
        return layers


ENCODERS: dict[str, type[LinearEncoder] | type[MLPEncoder]] = {
    "linear": LinearEncoder,
    "mlp": MLPEncoder,
}


class ModuleEncoder:
    """A user's own module behind the face that the predictor knows; needs torch to predict."""

    def __init__(
        self, module: nn.Module, n_features: int, n_bits: int, *, row_normalize: bool = False
    ) -> None:
        self.module, self.n_features, self.n_bits = module, n_features, n_bits
        self.row_normalize = row_normalize  # as the rows that it was trained on

    @torch.no_grad()
    def logits(self, X: Any) -> NDArray[np.float32]:
        """Return (n, n_bits) numbers for n rows."""
        device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        self.module.eval()
        rows = as_batch(X, device)
        if self.row_normalize:
            rows = unit_rows(rows)
        result: NDArray[np.float32] = self.module(rows).float().cpu().numpy()
        return result


def as_batch(X: Any, device: torch.device) -> Rows:
    """Return the rows of an ndarray or a CSR matrix as an encoder takes them."""
    if not sp.issparse(X):
        return _tensor(np.asarray(X, dtype=np.float32)).to(device)
    arrays = (X.indices, X.indptr[:-1], X.data.astype(np.float32, copy=False))
    return SparseRows(*(_tensor(array).to(device) for array in arrays))


def unit_rows(rows: Rows) -> Rows:
    """Divide each row by its length; a row of zeros stays."""
    if not isinstance(rows, SparseRows):
        return F.normalize(rows)
    ends = torch.cat([rows.offsets[1:], rows.offsets.new_tensor([len(rows.values)])])
    owner = torch.repeat_interleave(ends - rows.offsets)
    squares = rows.values.double().square()
    norms = squares.new_zeros(len(rows.offsets)).index_add_(0, owner, squares).sqrt_()
    norms[norms == 0] = 1
    return rows._replace(values=(rows.values / norms[owner]).float())


def make_encoder(
    encoder: str | nn.Module,
    n_features: int,
    n_bits: int,
    generator: torch.Generator,
    *,
    sparse: bool = False,
    **options: Any,
) -> nn.Module:
    """Return an encoder by name, or the user's own module as it is.

    Your own module maps a dense (rows, features) tensor to (rows, n_bits) logits. One that
    has the attribute ``accepts_sparse = True`` is given `SparseRows` where X is sparse.
    """
    if isinstance(encoder, nn.Module):
        return encoder
    if not isinstance(encoder, str) or encoder not in ENCODERS:
        raise unknown_name("encoder", encoder, ENCODERS)
    # Sparse rows have norm 1, standardized dense ones about sqrt(n_features): start with logits
    # of a like size, small enough for all bits to be undecided.
    std = 0.1 if sparse else 1 / math.sqrt(3 * n_features)
    return ENCODERS[encoder](n_features, n_bits, generator, std=std, **options)


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _load(module: Any, weight: NDArray[Any], bias: NDArray[Any]) -> None:
    with torch.no_grad():
        module.weight.copy_(torch.tensor(weight))
        module.bias.copy_(torch.tensor(bias))


def _numpy(tensor: Any) -> NDArray[np.float64]:
    array: NDArray[np.float64] = tensor.detach().cpu().numpy().astype(np.float64)
    return array


def _fold(
    norm: nn.BatchNorm1d, weight: NDArray[np.float64], bias: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    state = {name: _numpy(tensor) for name, tensor in norm.state_dict().items()}
    factor = state["weight"] / np.sqrt(state["running_var"] + norm.eps)
    return weight * factor, (bias - state["running_mean"]) * factor + state["bias"]
