-- Stores a snapshot unless the stored one is of the same channel and at least as new: by epoch, then by
-- revision, then by the number of offered releases (within a revision they only grow).
-- A stored snapshot with another channel id is left over from another database and is replaced.
--
-- KEYS[1]  hash {channel, epoch, revision, offered, body} of the channel
-- ARGV[1]  id of the channel
-- ARGV[2]  epoch of the new snapshot, a whole number
-- ARGV[3]  its revision, a whole number
-- ARGV[4]  number of its releases that were offered
-- ARGV[5]  the new snapshot as JSON
-- Returns  1 when it was stored, else {epoch, revision} of the one that was kept

local stored = redis.call('HMGET', KEYS[1], 'channel', 'epoch', 'revision', 'offered')
if stored[1] == ARGV[1] then
  local gain = 0
  for place = 2, 4 do
    gain = tonumber(ARGV[place]) - tonumber(stored[place])
    if gain ~= 0 then break end
  end
  if gain <= 0 then return {stored[2], stored[3]} end
end
redis.call('HSET', KEYS[1], 'channel', ARGV[1], 'epoch', ARGV[2], 'revision', ARGV[3],
  'offered', ARGV[4], 'body', ARGV[5])
return 1
