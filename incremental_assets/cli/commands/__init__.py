"""What the verbs of the command line do: each answers with one value, which is then shown to a person or printed as JSON."""
