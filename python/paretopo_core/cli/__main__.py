"""``python -m paretopo_core.cli``."""

import sys

from paretopo_core.cli import main

sys.exit(main())
