-- Stores a snapshot unless the stored one is of the same channel and at least as new: of a higher revision,
-- or of the same one with at least as many offered releases (within a revision they only grow).
-- A stored snapshot with another channel id is left over from another database and is replaced.
--
-- KEYS[1]  hash {channel, revision, offered, body} of the channel
-- ARGV[1]  id of the channel
-- ARGV[2]  revision of the new snapshot, a whole number
-- ARGV[3]  number of its releases that were offered
-- ARGV[4]  the new snapshot as JSON
-- Returns  1 when it was stored, 0 when not

local stored = redis.call('HMGET', KEYS[1], 'channel', 'revision', 'offered')
if stored[1] == ARGV[1] then
  local gain = tonumber(ARGV[2]) - tonumber(stored[2])
  if gain < 0 or (gain == 0 and tonumber(ARGV[3]) <= tonumber(stored[3])) then
    return 0
  end
end
redis.call('HSET', KEYS[1],
  'channel', ARGV[1], 'revision', ARGV[2], 'offered', ARGV[3], 'body', ARGV[4])
return 1
