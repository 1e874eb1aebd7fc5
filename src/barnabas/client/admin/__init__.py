"""What a tool can ask of a cluster, one file per noun: requests in, frozen values out.

Every function takes the `Cluster` first, sends its requests to whoever is responsible, tries again where the
broker says that it may (`Cluster.retried`), and raises `BrokerError` with the broker's own words otherwise.
Functions over many things at once return an error per thing where Kafka's answer has one.
"""
