"""Fold observations into history: the state of each document now, and the versions that it had."""
