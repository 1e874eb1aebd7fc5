"""The values of the control records of a Raft log: what the tool prints before them, and their form."""

from barnabas.cli.dump.schema import Schema

CONTROL_RECORDS: dict[int, tuple[str, Schema]] = {
    2: (
        " LeaderChange: ",
        Schema(
            """
            version int16
            leaderId int32
            voters []{}
                voterId int32
                voterDirectoryId uuid 1+
            grantingVoters []{}
                voterId int32
                voterDirectoryId uuid 1+
            """,
            newest=1,
        ),
    ),
    3: (" SnapshotHeader ", Schema("version int16; lastContainedLogTimestamp int64")),
    4: (" SnapshotFooter ", Schema("version int16")),
    5: (" KRaftVersion ", Schema("version int16; kRaftVersion int16")),
    6: (
        " KRaftVoters ",
        Schema(
            """
            version int16
            voters []{}
                voterId int32
                voterDirectoryId uuid
                endpoints []{}
                    name string
                    host string
                    port uint16
                kRaftVersionFeature {}
                    minSupportedVersion int16
                    maxSupportedVersion int16
            """,
        ),
    ),
}
