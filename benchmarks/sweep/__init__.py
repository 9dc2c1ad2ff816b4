"""Families of programs that differ in one thing at a time, to find which shapes and types an engine is slow for."""
