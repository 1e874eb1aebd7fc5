"""The ground floor: ids, errors, clock, file system, configuration. Imports nothing of the house."""
