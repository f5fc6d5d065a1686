"""The published data sets, which are no part of the repository.

Copies of public repositories: QwenLM/Qwen2.5-Math a45202bd, evaluation/data/; YuYingLi0/FiRe-OPD
2e23cd6d, data/; google-research-datasets/natural-questions fb26a307, nq_open/NQ-open.dev.jsonl;
tehranixyz/Search-R1 96cdb31d, data/nq_search/test.parquet, and 03dfbfa4, the first rows of
data/nq_search/train.parquet; ysymyth/ReAct 6bdb3a1f, data/hotpot_dev_v1_simplified.json;
sfc-gh-ruwu/Search-o1 b521cff2, data/QA_Datasets/; GAIR-NLP/ToRL cb78cf1c,
data/torl_data/test.parquet.
"""

import os
from pathlib import Path

# PARETOPO_DATA names their folder, or they are in ../shared/data next to the repository.
FOLDER = Path(os.environ.get("PARETOPO_DATA", Path(__file__).parents[3] / "shared" / "data"))
MISSING = f"the published files are not here: no folder {FOLDER}; PARETOPO_DATA names it"
