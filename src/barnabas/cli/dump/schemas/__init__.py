"""The schemas of the records of internal topics, in the notation of `dump.schema`. Names are Kafka's."""
