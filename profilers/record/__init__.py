"""Session files: records, their store, and the recorder that fills them."""
