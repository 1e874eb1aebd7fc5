"""Short names for the columns of the tables."""

from barnabas.base.config.keys import ConfigType, Importance, UpdateMode

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
SHORT = ConfigType.SHORT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
LIST = ConfigType.LIST
CLASS = ConfigType.CLASS
PASSWORD = ConfigType.PASSWORD
UNKNOWN = ConfigType.UNKNOWN

INT_MAX = "2147483647"
LONG_MAX = "9223372036854775807"

HIGH = Importance.HIGH
MEDIUM = Importance.MEDIUM
LOW = Importance.LOW

READ_ONLY = UpdateMode.READ_ONLY
PER_BROKER = UpdateMode.PER_BROKER
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE
