"""Ridge regression to +1 for a row's class and -1 for all others, by scikit-learn."""

from peers.contestants.scikit_learn import ScikitLearn


class Ridge(ScikitLearn):
    """`RidgeClassifier`."""

    module = "sklearn.linear_model"
    takes_sets = True
    choices = ({"alpha": 1.0}, {"alpha": 10.0})

    def estimator(self, n_classes):
        from sklearn.linear_model import RidgeClassifier

        return RidgeClassifier(**self.settings)
