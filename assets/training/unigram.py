"""Counts every token of the training text, per kind: the unigram model that evaluate.py compares with.

python unigram.py RUN_DIR assets/training/unigram.json        (after train.py; needs numpy)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

KINDS = ("english", "chinese", "code")


def main() -> None:
    run, out = Path(sys.argv[1]), Path(sys.argv[2])
    counts = {kind: np.bincount(np.load(run / f"{kind}.npy"), minlength=4096).tolist() for kind in KINDS}
    out.write_text(json.dumps(counts, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
