"""``python -m paretopo.cli``."""

import sys

from paretopo.cli import main

sys.exit(main())
