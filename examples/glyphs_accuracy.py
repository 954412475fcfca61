"""How hard is the built-in data set? Nearest centroid against a multi-layer perceptron.

Run it with:  python examples/glyphs_accuracy.py
"""

import torch
from sklearn.neighbors import NearestCentroid
from torch import nn

from dsnc.data import Dataset, load_dataset


def perceptron_accuracy(train: Dataset, test: Dataset, n_epochs: int) -> float:
    """Train one hidden layer of 1,024 units and return its accuracy on `test`."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(400, 1024),
        nn.BatchNorm1d(1024),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(1024, train.n_classes),
    )
    X, y = torch.from_numpy(train.X), torch.from_numpy(train.y).long()
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.05)
    steps = n_epochs * -(-len(X) // 256)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(n_epochs):
        for rows in torch.randperm(len(X)).split(256):
            loss = nn.functional.cross_entropy(network(X[rows]), y[rows], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    with torch.no_grad():
        best = network(torch.from_numpy(test.X)).argmax(dim=1)
    return float((best.numpy() == test.y).mean())


def main(n_classes: int = 1000, n_epochs: int = 24) -> None:
    """Print both accuracies."""
    train, _, test = load_dataset("glyphs", n_classes=n_classes).split(
        0.8, 0.1, 0.1, random_state=0
    )
    centroid = NearestCentroid().fit(train.X, train.y).score(test.X, test.y)
    print(f"nearest centroid  {centroid:.1%}")
    print(f"perceptron        {perceptron_accuracy(train, test, n_epochs):.1%}")


if __name__ == "__main__":
    main()
