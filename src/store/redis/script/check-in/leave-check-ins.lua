-- Removes a taker of check-ins from the live ones.
--
-- KEYS[1]  sorted set of takers
-- ARGV[1]  name of the taker
-- Returns  1 when it was there

return redis.call('ZREM', KEYS[1], ARGV[1])
