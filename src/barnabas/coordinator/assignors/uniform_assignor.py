"""`uniform`: partitions spread evenly over the members, moving as few as balance needs. Kafka's default.

Members are taken in the order of their ids, topics in the order of theirs, and partitions in theirs, so the
result depends on the group alone and not on how its state came into memory (Kafka leaves the first two to its
hash maps).
"""

from barnabas.coordinator.assignors.heterogeneous_uniform import HeterogeneousUniform
from barnabas.coordinator.assignors.homogeneous_uniform import HomogeneousUniform
from barnabas.coordinator.assignors.spec import GroupSpec, TargetAssignment


class UniformAssignor:
    name = "uniform"

    def assign(self, spec: GroupSpec) -> TargetAssignment:
        if not spec.members:
            return {}
        if spec.homogeneous:
            return HomogeneousUniform(spec).assign()
        return HeterogeneousUniform(spec).assign(spec)
