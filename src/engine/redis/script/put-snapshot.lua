-- Stores a snapshot unless the stored one has the same or a higher revision.
--
-- KEYS[1]  hash {revision, body} of the channel
-- ARGV[1]  revision of the new snapshot, a whole number
-- ARGV[2]  the new snapshot as JSON
-- Returns  1 when it was stored, 0 when not

local stored = tonumber(redis.call('HGET', KEYS[1], 'revision') or '-1')
if tonumber(ARGV[1]) <= stored then
  return 0
end
redis.call('HSET', KEYS[1], 'revision', ARGV[1], 'body', ARGV[2])
return 1
