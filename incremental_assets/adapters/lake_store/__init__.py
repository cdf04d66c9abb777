"""Where the files of a lake are: a folder of this machine or a store of objects, behind one interface."""
