"""python3 -m stepadv"""

import sys

from stepadv.cli import main

sys.exit(main())
