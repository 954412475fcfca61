"""What a model remembers of the data that it learned from."""

from typing import TYPE_CHECKING, Any

from dsnc.errors import InputError

if TYPE_CHECKING:
    from dsnc.data import Dataset
    from dsnc.data.columns import Columns


def takes_text(model: Any) -> bool:
    """Tell whether a model was trained on texts."""
    return model.predictor_.features is not None


def facts_of(dataset: "Dataset") -> dict[str, Any]:
    """Return what a model should remember of the data that it learns from, for `data_`.

    `fit` sees rows, and neither names of columns nor numbers of features.
    """
    facts: dict[str, Any] = {}
    if dataset.first_index is not None:
        facts["first_index"] = dataset.first_index
    if dataset.columns is not None:
        facts["columns"] = dataset.columns.plain()
    return facts


def columns_of(model: Any) -> "Columns | None":
    """Return the columns of the table that a model learned from, if it was one."""
    from dsnc.data.columns import Columns

    found = getattr(model, "data_", {}).get("columns")
    return None if found is None else Columns.from_plain(found)


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns of X, as a DataFrame or a table had them, or none."""
    given = getattr(model, "feature_names_in_", getattr(model, "_names", ()))
    if len(given):
        return [str(name) for name in given]
    try:
        columns = columns_of(model)
    except InputError:  # a file may say anything
        return []
    if columns is None or columns.width != model.n_features_in_:
        return []
    values = columns.categories.items()
    return [*columns.numbers, *(f"{name}={value}" for name, some in values for value in some)]


def first_index(model: Any) -> int | None:
    """Return the number that svmlight files gave to the first feature; None if it is not known."""
    found = getattr(model, "data_", {}).get("first_index")
    return found if type(found) is int and found in (0, 1) else None  # a file may say anything
