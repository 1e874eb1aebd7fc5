"""A blocking client of the Kafka protocol, for tools: connections, the brokers of a cluster, admin requests.

It speaks to any broker that speaks the protocol, Apache Kafka included, and knows nothing of our own broker.
Records are not its business: tools that produce and consume use confluent-kafka.

Every tool comes through here before it meets kio, so this is where kio is kept light.
"""

from barnabas.base.light_kio import import_kio_lightly

import_kio_lightly()
