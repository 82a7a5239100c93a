"""Statistics, acceptance, economics and the verdict; no MLX."""
