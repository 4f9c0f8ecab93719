-- Names the record that everything below the prefix belongs to, unless it is named.
--
-- KEYS[1]  hash {name} of the record
-- ARGV[1]  name of the record
-- Returns  the name that it has now

redis.call('HSETNX', KEYS[1], 'name', ARGV[1])
return redis.call('HGET', KEYS[1], 'name')
