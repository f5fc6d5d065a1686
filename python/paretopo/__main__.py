"""``python -m paretopo``."""

import sys

from paretopo.cli import main

sys.exit(main())
