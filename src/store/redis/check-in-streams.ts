// How many streams the check-ins have in Redis.

/** Number of streams, a power of two: as many drains can write side by side. */
export const CHECK_IN_STREAMS = 8;
