"""What `dsnc.codes.shortlist` takes, for those who decide without loading the compiler."""

MAX_ROWS = 8  # of a call
MAX_BITS = 255  # a distance is an octet
