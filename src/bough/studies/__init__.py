"""Durable studies: journals of trials in SQLite files, replayed when they are opened."""
