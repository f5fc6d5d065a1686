"""Names that verl's command line takes of us, and a run's configuration in verl's options."""

from __future__ import annotations

ESTIMATOR = "paretopo"  # algorithm.adv_estimator; "paretopo_NAME" for another of stage 2
TRAINERS = ("paretopo_sync", "paretopo_colocate_async")  # trainer.v1.trainer_mode
INFORMATIVE = "paretopo_informative"  # algorithm.filter_groups.metric
