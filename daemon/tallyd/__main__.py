"""``python -m tallyd``."""

from tallyd.service.main import main

main()
