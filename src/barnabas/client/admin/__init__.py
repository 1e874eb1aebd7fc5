"""Administrative requests, one file per noun. Functions return frozen values.

Every function takes the `Cluster` first and sends its requests to the responsible brokers. It retries
retriable errors (`Cluster.retried`) and raises `BrokerError` with the message of the broker otherwise. A
function over many items returns an error per item if Kafka's response has one. Nothing here prints: the
command line and a console share this package.
"""
