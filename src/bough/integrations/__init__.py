"""Engines of others, imported when they are used."""
