-- Stores the name of the record that all keys below the prefix belong to, unless there is one.
--
-- KEYS[1]  hash {name} of the record
-- ARGV[1]  name of the record
-- Returns  the stored name

redis.call('HSETNX', KEYS[1], 'name', ARGV[1])
return redis.call('HGET', KEYS[1], 'name')
