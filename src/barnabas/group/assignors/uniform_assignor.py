"""`uniform`: spreads partitions evenly over the members with the fewest moves. Kafka's default.

Members, topics and partitions are processed in the order of their ids, so the result depends on the group
alone and not on the order in memory (Kafka leaves the first two to its hash maps).
"""

from barnabas.group.assignors.heterogeneous_uniform import HeterogeneousUniform
from barnabas.group.assignors.homogeneous_uniform import HomogeneousUniform
from barnabas.group.assignors.spec import GroupSpec, TargetAssignment


class UniformAssignor:
    name = "uniform"

    def assign(self, spec: GroupSpec) -> TargetAssignment:
        if not spec.members:
            return {}
        if spec.homogeneous:
            return HomogeneousUniform(spec).assign()
        return HeterogeneousUniform(spec).assign(spec)
