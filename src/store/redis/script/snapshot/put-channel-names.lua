-- Stores the list of all channel names.
--
-- KEYS[1]  hash {tag, body} of the list
-- ARGV[1]  tag of the list
-- ARGV[2]  the list as JSON

redis.call('HSET', KEYS[1], 'tag', ARGV[1], 'body', ARGV[2])
return 1
