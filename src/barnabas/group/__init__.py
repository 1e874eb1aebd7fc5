"""The group coordinator: consumer groups and their offsets. Its state is loaded from and kept in a log."""
