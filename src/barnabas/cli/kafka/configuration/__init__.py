"""What kafka-configs is made of: the entities a command line names, their description, their alteration."""
