"""``python -m npuhal`` is ``npuhal``."""

import sys

from npuhal.command import main

sys.exit(main())
