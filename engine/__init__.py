"""The decode and verify loop on MLX: models, caches, drafters."""
