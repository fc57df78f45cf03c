"""``python -m crowdrank``: the command line."""

from crowdrank.cli import main

if __name__ == "__main__":
    main()
