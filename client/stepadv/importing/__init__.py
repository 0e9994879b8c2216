"""Loads files of scaffolds, trainers and tracers as rows of the tables rollouts and steps."""
