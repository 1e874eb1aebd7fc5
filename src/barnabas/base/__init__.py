"""The lowest layer: ids, errors, clock, file system, configuration. Imports no other package of Barnabas."""
