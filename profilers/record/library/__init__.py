"""A folder of session files as a library: its entries, and safe changes to them; no MLX."""
