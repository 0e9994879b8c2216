"""Files that scaffolds, trainers and tracers write, as rows of the tables rollouts and steps."""
