"""The published data sets, which are no part of the repository; docs/data.md says which bytes."""

import os
from pathlib import Path

# PARETOPO_DATA names their folder, or they are in ../shared/data next to the repository.
FOLDER = Path(os.environ.get("PARETOPO_DATA", Path(__file__).parents[3] / "shared" / "data"))
MISSING = f"the published files are not here: no folder {FOLDER}; PARETOPO_DATA names it"
