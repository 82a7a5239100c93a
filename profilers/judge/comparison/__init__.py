"""Two sessions side by side: whether they may be, what changed, by how much, and which part of a round did it."""
