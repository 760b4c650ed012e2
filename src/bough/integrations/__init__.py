"""Integrations with other libraries, each imported when it is used."""
