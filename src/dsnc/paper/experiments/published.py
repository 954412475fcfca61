"""The figures of the paper, to be shown beside ours.

T. Gerald, A. Léon, N. Baskiotis, L. Denoyer, "Binary Stochastic Representations for Large
Multi-class Classification": its Table 2 (test accuracy in percent) and Table 3.
"""

from collections.abc import Mapping

from dsnc.paper.experiments.definition import Source

COLUMNS = (
    "dsnc/linear",
    "dsnc/nearest",
    "dsnc_reg/linear",
    "dsnc_reg/nearest",
    "mlp",
    "mlp_reg",
    "ecoc",
)

ACCURACY: Mapping[str, Mapping[int, tuple[float | None, ...]]] = {
    "DMOZ-1K": {
        12: (31.772, 22.425, 33.156, 23.492, 39.204, 39.716, 10.738),
        24: (39.736, 36.779, 41.326, 37.028, 48.496, 48.748, 22.144),
        36: (42.928, 41.208, 45.414, 42.776, 51.48, 51.716, 27.589),
        60: (46.84, 44.734, 48.742, 47.41, 53.532, 54.084, 33.85),
        100: (49.164, 46.807, 50.984, 49.888, 54.954, 55.658, 38.212),
        200: (51.058, 49.065, 53.052, 52.355, 56.262, 56.908, 41.33),
    },
    "DMOZ-12K": {
        12: (15.09, 15.2, 15.34, 15.24, 20.05, 20.18, 3.8),
        24: (21.15, 18.79, 21.64, 19.27, 28.74, 29.3, 17.591),
        36: (24.83, 22.21, 25.95, 24.17, 32.14, 32.05, 21.71),
        60: (28.36, 25.97, 29.71, 29.96, 35.41, 35.36, 25.079),
        100: (30.42, 27.6, 31.98, 33.94, 37.45, 37.23, 27.0),
        200: (32.22, 29.32, 33.95, 35.95, 39.12, 38.25, 27.91),
        400: (31.96, 33.02, 33.6, 38.65, 36.71, 39.75, 28.08),
    },
    "ALOI": {
        12: (34.918, 34.84, 33.328, 33.366, 82.04, 81.992, 1.53),
        24: (67.92, 63.66, 66.064, 64.19, 88.174, 87.27, 4.21),
        36: (76.73, 74.19, 75.84, 79.94, 89.91, 88.18, 5.81),
        60: (83.478, 83.19, 82.66, 81.74, 92.22, 89.78, 9.03),
        100: (88.014, 88.58, 87.606, 88.72, 99.96, 90.79, 13.8),
        200: (91.288, 91.88, 90.542, 91.26, 95.15, 92.41, 22.4),
    },
    "IMAGENET": {
        12: (1.5, 0.82, 1.49, 0.805, 14.6, 13.11, 12.32),
        24: (15.6, 7.705, 9.01, 4.595, 53.19, 53.46, 32.42),
        36: (53.82, 36.46, 45.74, 25.14, 59.11, 58.85, 45.03),
        60: (60.07, 48.61, 63.0, 53.655, 60.83, 63.66, 56.5),
        100: (68.66, 63.405, 68.81, 63.515, 65.9, 66.81, 64.5),
        200: (70.67, 66.935, 71.61, 68.54, None, 67.3, 69.76),
    },
}
"""Data set to code size to accuracy, in the order of `COLUMNS`. (The MLP of 100 units on ALOI is
printed as 99.96, out of line with its neighbors.)"""

LATENT_COLUMNS = ("train intra", "train inter", "train codes", "test intra", "test inter")

LATENT: Mapping[str, Mapping[tuple[int, bool], tuple[str, ...]]] = {
    "DMOZ-1K": {
        (24, True): ("1.1 ± 1", "11.78 ± 0", "8,000", "4.8 ± 3", "10.8 ± 1"),
        (24, False): ("2.3 ± 1", "11.6 ± 0", "15,000", "5.9 ± 3", "10.5 ± 1"),
        (60, True): ("2.8 ± 3", "29.4 ± 0", "15,000", "12.1 ± 6", "27.0 ± 2"),
        (60, False): ("10.9 ± 3", "26.6 ± 0", "28,000", "16.6 ± 6", "25.6 ± 2"),
        (100, True): ("8.82 ± 6", "47 ± 1", "24,000", "20.1 ± 10", "45.0 ± 3"),
        (100, False): ("23 ± 5", "40.8 ± 1", "29,000", "29.6 ± 9", "41.6 ± 4"),
        (200, True): ("18.4 ± 11", "94.4 ± 2", "26,000", "37 ± 19", "90.8 ± 5"),
        (200, False): ("59.3 ± 10", "72.3 ± 2", "30,000", "63.9 ± 17", "80.6 ± 9"),
    },
}
"""Data set to (code size, regularized) to the cells of Table 3, as `LATENT_COLUMNS` has them."""

NAMES: Mapping[str, str] = {
    "dmoz-1k": "DMOZ-1K",
    "dmoz-12k": "DMOZ-12K",
    "aloi": "ALOI",
    "imagenet-resnet152": "IMAGENET",
}
"""Our catalog's name of a data set to the paper's."""


def paper_set(source: Source, data: str) -> str:
    """Return the paper's data set whose figures belong beside ours; empty if there is none."""
    return source.beside or NAMES.get(data, "")
