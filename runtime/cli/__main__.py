"""``python -m runtime.cli`` is ``npuhal``."""

import sys

from runtime.cli import main

sys.exit(main())
