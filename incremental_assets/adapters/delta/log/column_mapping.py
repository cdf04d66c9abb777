"""How a log says under which names files know the columns of a table."""

MODE = "delta.columnMapping.mode"
MOST_ID = "delta.columnMapping.maxColumnId"
ID = "delta.columnMapping.id"
PHYSICAL = "delta.columnMapping.physicalName"
