"""Our metrics inside scikit-learn and torchmetrics, with the real packages."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import pateval as pv
from support.messages import raises_exactly


def made_series(events=6, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(100 * events, 2))
    labels = np.zeros(len(values), dtype=int)
    for start in range(40, len(values), 100):
        values[start : start + 12] += 4
        labels[start : start + 12] = 1
    return values, labels


class TestScorer:
    def test_outlier_detectors_of_scikit_learn_give_low_scores_to_anomalies(self):
        values, labels = made_series()
        forest = IsolationForest(random_state=0).fit(values)
        value = pv.sklearn.scorer("pate_ap", early=20, delay=20)(forest, values, labels)
        assert value == pv.pate_ap(labels, -forest.decision_function(values), early=20, delay=20)
        assert value > 0.8

    def test_the_last_step_of_a_pipeline_decides_the_sign(self):
        values, labels = made_series()
        pipeline = make_pipeline(StandardScaler(), IsolationForest(random_state=0)).fit(values)
        assert pv.sklearn.scorer("auc_roc")(pipeline, values, labels) > 0.9

    def test_classifiers_give_the_probability_of_the_larger_class(self):
        values, labels = made_series()
        model = LogisticRegression().fit(values, labels)
        expected = pv.vus_pr(labels, model.predict_proba(values)[:, 1], window=10)
        assert pv.sklearn.scorer("vus_pr", window=10)(model, values, labels) == expected

    def test_metrics_on_predictions_see_minus_one_as_an_anomaly(self):
        values, labels = made_series()
        forest = IsolationForest(random_state=0, contamination=0.12).fit(values)
        expected = pv.point(labels, forest.predict(values) == -1).f1
        assert pv.sklearn.scorer("point_f1")(forest, values, labels) == expected

    def test_metrics_where_less_is_better_are_turned_around(self):
        values, labels = made_series()
        forest = IsolationForest(random_state=0, contamination=0.12).fit(values)
        expected = -pv.false_alarm_rate(labels, forest.predict(values) == -1)
        assert pv.sklearn.scorer("false_alarm_rate")(forest, values, labels) == expected

    def test_a_search_over_folds_in_time_finds_the_better_setting(self):
        values, labels = made_series(events=8)
        search = GridSearchCV(
            LocalOutlierFactor(novelty=True),
            {"n_neighbors": [1, 60]},
            scoring=pv.sklearn.scorer("pate_ap", early=20, delay=20),
            cv=list(pv.sklearn.event_folds(labels, 3)),
        ).fit(values, labels)
        assert search.best_params_ == {"n_neighbors": 60}
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    def test_a_fold_without_anomaly_is_nan_and_says_what_to_do(self):
        values, labels = made_series()
        labels[300:] = 0
        with pytest.warns(UserWarning, match="take folds that hold events"):
            found = cross_val_score(
                IsolationForest(random_state=0),
                values,
                labels,
                scoring=pv.sklearn.scorer("pate_ap"),
                cv=TimeSeriesSplit(3),
            )
        assert np.isnan(found).tolist() == [False, True, True]

    @pytest.mark.filterwarnings("ignore:pate_ap.* is undefined")
    def test_a_number_for_such_folds_leaves_the_order_of_candidates_alone(self):
        values, labels = made_series()
        labels[300:] = 0
        search = GridSearchCV(
            IsolationForest(random_state=0),
            {"n_estimators": [1, 100]},
            scoring=pv.sklearn.scorer("pate_ap", early=20, delay=20, undefined=0.0),
            cv=TimeSeriesSplit(3),
        ).fit(values, labels)
        assert search.best_params_ == {"n_estimators": 100}

    def test_a_metric_on_predictions_asks_for_an_estimator_that_predicts(self):
        values, labels = made_series()
        with raises_exactly(
            TypeError,
            "point_f1 takes predictions, and KernelDensity has no predict; take a metric on scores, such as pate_ap, "
            "or an estimator that predicts",
        ):
            pv.sklearn.scorer("point_f1")(KernelDensity().fit(values), values, labels)

    def test_of_an_unknown_estimator_the_direction_must_be_said(self):
        class Mine:
            def decision_function(self, rows):
                return rows[:, 0]

        values, labels = made_series()
        with raises_exactly(
            ValueError,
            "it is not known whether high or low scores of Mine are anomalous; say anomalous='higher' or "
            "anomalous='lower'",
        ):
            pv.sklearn.scorer()(Mine(), values, labels)
        assert pv.sklearn.scorer("auc_roc", anomalous="higher")(Mine(), values, labels) > 0.9
        assert pv.sklearn.scorer("auc_roc", anomalous="lower")(Mine(), values, labels) < 0.1

    def test_it_can_be_pickled_for_parallel_searches(self):
        made = pv.sklearn.scorer("pate_ap", early=20)
        again = pickle.loads(pickle.dumps(made))  # noqa: S301 - what was written just now
        assert again.metric.id == made.metric.id == "pate_ap(early=20)"


class TestEventFolds:
    def test_no_event_is_cut_and_each_fold_has_some(self):
        _, labels = made_series(events=9)
        folds = list(pv.sklearn.event_folds(labels, 4, gap=5))
        assert len(folds) == 4
        events = 0
        for train, test in folds:
            found = pv.intervals_from_labels(labels[test])
            assert len(found) >= 1
            assert (found[:, 1] - found[:, 0] == 12).all()
            assert train[-1] == test[0] - 6
            events += len(found)
        assert events + len(pv.intervals_from_labels(labels[: folds[0][1][0]])) == 9

    def test_too_few_events_are_refused(self):
        with raises_exactly(ValueError, "3 folds need at least 4 events, one to train on and one each; there are 2"):
            list(pv.sklearn.event_folds([0, 1, 0, 1, 0], 3))


class TestTorchmetrics:
    @pytest.mark.parametrize(("area", "function"), [("average-precision", pv.pate_ap), ("trapezoid", pv.pate)])
    def test_is_exact_by_default_whatever_the_scale(self, area, function):
        rng = np.random.default_rng(2)
        one, two = (pv.torchmetrics.PateMetric(5, 7, area=area) for _ in range(2))
        parts = [(rng.random(80) < 0.2, rng.normal(0, 1000, 80).astype(np.float32)) for _ in range(4)]
        for number, (labels, scores) in enumerate(parts):
            (one, two)[number % 2].update(torch.from_numpy(scores), torch.from_numpy(labels))
        one.merge_state(two)
        labels, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        expected = function(labels, scores, early=5, delay=7, series=np.repeat(np.arange(4), 80))
        assert float(one.compute()) == pytest.approx(expected, abs=1e-12)
        one.reset()
        one.update(torch.arange(10.0), torch.zeros(10, dtype=torch.int64))
        with pytest.warns(UserWarning, match="the labels hold no anomaly"):
            assert torch.isnan(one.compute())

    def test_scores_beyond_the_thresholds_are_warned_about(self):
        labels = torch.tensor([0, 1, 0, 0, 1])
        metric = pv.torchmetrics.PateMetric(2, 2, thresholds=9)
        metric.update(torch.tensor([0.0, 0.9, 0.3, 1.0, 0.5]), labels)
        with pytest.warns(UserWarning, match="2 of 5 scores lie outside the thresholds of PateMetric, 0 to 1"):
            metric.update(torch.tensor([-0.5, 0.9, 0.3, 1.5, 0.5]), labels)
        given = pv.torchmetrics.PateMetric(2, 2, thresholds=[10.0, 20.0])
        given.update(torch.tensor([9.0, 15.0, 12.0, 25.0, 11.0]), labels)
        with pytest.warns(
            UserWarning, match="5 of 5 scores lie outside the thresholds of PateMetric, 10 to 20"
        ) as seen:
            given.update(torch.arange(5.0), labels)
        given.reset()
        given.update(torch.tensor([12.0, 15.0]), torch.tensor([0, 0]))
        with pytest.warns(UserWarning, match="PATE is not a number") as undefined:
            given.compute()
        assert {seen[0].filename, undefined[0].filename} == {__file__}

    def test_equals_the_accumulator_over_updates_and_merges(self):
        rng = np.random.default_rng(0)
        thresholds = np.linspace(0, 1, 40)
        one, two = (pv.torchmetrics.PateMetric(5, 7, thresholds) for _ in range(2))
        plain = pv.PateAccumulator(5, 7, thresholds)
        for number in range(6):
            labels, scores = rng.random(80) < 0.2, rng.random(80)
            (one, two)[number % 2].update(torch.from_numpy(scores), torch.from_numpy(labels))
            plain.update(labels, scores)
        one.merge_state(two)
        assert float(one.compute()) == pytest.approx(plain.compute_ap(), abs=1e-12)
        one.reset()
        one.update(torch.rand(10), torch.zeros(10, dtype=torch.int64))
        with pytest.warns(UserWarning, match="no anomaly has been seen yet"):
            assert torch.isnan(one.compute())

    def test_rows_of_a_matrix_are_series(self):
        rng = np.random.default_rng(1)
        scores, labels = torch.from_numpy(rng.random((4, 50))), torch.from_numpy(rng.random((4, 50)) < 0.2)
        whole, single = (pv.torchmetrics.PateMetric(3, 3, 20, area="trapezoid") for _ in range(2))
        whole.update(scores, labels)
        for row in range(4):
            single.update(scores[row], labels[row])
        assert whole.compute() == single.compute()

    def test_shapes_that_differ_are_refused(self):
        with raises_exactly(
            ValueError, "preds and target must have the same shape, (steps,) or (series, steps); got (3,) and (4,)"
        ):
            pv.torchmetrics.PateMetric().update(torch.zeros(3), torch.zeros(4))

    def test_in_a_training_loop_it_rises(self):
        torch.manual_seed(0)
        values, labels = made_series(events=8)
        rows, truth = torch.from_numpy(values).float(), torch.from_numpy(labels).float()
        model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        metric = pv.torchmetrics.PateMetric(early=10, delay=10, thresholds=100)
        by_epoch = []
        for _ in range(15):
            scores = model(rows)[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(scores, truth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            # Two whole series an epoch, as two steps of validation.
            for part in (slice(0, 400), slice(400, 800)):
                metric.update(torch.sigmoid(scores[part]), labels_of(truth, part))
            by_epoch.append(float(metric.compute()))
            metric.reset()
        assert by_epoch[-1] > 0.9 > by_epoch[0]


def labels_of(truth, part):
    return truth[part].to(torch.int64)
