"""A blocking client of the Kafka protocol, for tools: connections, the brokers of a cluster, admin requests.

It works with any broker of the protocol, Apache Kafka included, and does not depend on our own broker. It
does not handle records: tools that produce and consume use confluent-kafka.

Every tool imports this package before kio, so this package makes the import of kio light.
"""

from barnabas.base.light_kio import import_kio_lightly

import_kio_lightly()
