"""A Python that has imported everything, beside the engine: a command is a fork of it, and begins without the second and a half of imports.

`engine start` starts it and `engine stop` ends it. The console script asks it over a socket in the engine's folder, which only its user may
enter, and hands it arguments, environment, folder and the three streams; where none fits, the command runs in its own process as ever.
"""
