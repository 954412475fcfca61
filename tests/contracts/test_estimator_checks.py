"""scikit-learn's own check suite, whole; what cannot pass is named with its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dsnc import DSNCClassifier

OTHER_BATCHES = (
    "a row of weight 2 and the same row twice are not the same to a method that draws rows into "
    "random batches: the number of rows decides how they are drawn, and with it the noise"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": OTHER_BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": OTHER_BATCHES,
}
ESTIMATORS = [
    DSNCClassifier(n_bits=8, max_epochs=8, device="cpu"),
    DSNCClassifier(n_bits=8, max_epochs=4, device="cpu", encoder="mlp", hidden=(16,)),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
