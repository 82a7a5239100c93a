"""What is exported: sessions and screens as text, tables, pictures and traces; pure, and without Textual."""
