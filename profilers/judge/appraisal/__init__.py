"""A published benchmark judged from its own numbers: facts in, verdict out."""
