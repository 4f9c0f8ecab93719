-- Stores the list of the names of all channels.
--
-- KEYS[1]  hash {tag, body} of the list
-- ARGV[1]  tag of the list
-- ARGV[2]  the list as JSON

redis.call('HSET', KEYS[1], 'tag', ARGV[1], 'body', ARGV[2])
return 1
