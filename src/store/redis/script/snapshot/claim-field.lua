-- Stores a field of what is said of all keys below the prefix (the name of their record, their region), unless it has a
-- value.
--
-- KEYS[1]  hash
-- ARGV[1]  field
-- ARGV[2]  value
-- Returns  the stored value

redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
