"""The op census: every primitive of a pass with what it moves and computes, and what the blocks of a pass demand."""
