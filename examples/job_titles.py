"""Text in, classes out: strings need no features of your own.

Run it with:  python examples/job_titles.py
"""

import numpy as np

import dsnc

LEVELS = ("junior", "senior", "chief", "assistant", "lead", "part-time", "night")
TRADES = (
    *("nurse", "electrician", "baker", "plumber", "teacher", "welder", "cashier", "pilot"),
    *("carpenter", "accountant", "translator", "surgeon", "gardener", "butcher", "librarian"),
)
PLACES = ("hospital", "school", "shipyard", "airport", "bakery", "office", "warehouse", "museum")


def make_titles(n_rows: int, seed: int) -> tuple[list[str], list[str]]:
    """Make titles with slips of the pen, and their occupations."""
    rng = np.random.default_rng(seed)
    titles, occupations = [], []
    for _ in range(n_rows):
        level, trade, place = (str(rng.choice(words)) for words in (LEVELS, TRADES, PLACES))
        slip = int(rng.integers(len(trade)))
        written = trade[:slip] + trade[slip + 1 :] if rng.random() < 0.3 else trade
        titles.append(f"{level} {written}, {place}")
        occupations.append(trade)
    return titles, occupations


def main() -> float:
    """Learn occupations from titles; return the accuracy on others."""
    titles, occupations = make_titles(3000, seed=0)
    model = dsnc.DSNCClassifier(n_bits=24, max_epochs=8, random_state=0)
    model.fit(titles, occupations)

    asked = ["senior welder (shipyard)", "chief accountnat", "dragon tamer"]
    labels, probabilities = model.predict_top_k(asked, k=2)
    for title, row, shares in zip(asked, labels, probabilities, strict=True):
        guesses = [f"{label} {share:.0%}" for label, share in zip(row, shares, strict=True)]
        print(f"{title:26}", *guesses)
    print("surely:", model.predict(asked, reject_below=0.5, rejected="?"))

    accuracy = float(model.score(*make_titles(500, seed=1)))
    print(f"accuracy on other titles {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
