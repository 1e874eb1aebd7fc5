"""Groups whose members assign among themselves: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""
