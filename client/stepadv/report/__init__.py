"""stepadv report: what each step was worth, as pages that need no server and no network."""
