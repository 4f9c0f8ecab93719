-- Removes a snapshot, if it is of the channel with this id.
--
-- KEYS[1]  hash {channel, …} of the channel
-- ARGV[1]  id of the channel
-- Returns  1 when it was removed, 0 when not

if redis.call('HGET', KEYS[1], 'channel') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
