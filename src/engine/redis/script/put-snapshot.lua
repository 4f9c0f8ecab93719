-- Stores a snapshot unless the stored one is of the same channel and at least as new: by epoch, then by
-- revision, then by the number of offered releases (which only grows within a revision).
-- A stored snapshot with another channel id is left over from another database and is replaced.
--
-- Releases are fields of their own, by edition, and stay as they are from one snapshot to the next. A snapshot
-- is stored only when all its releases are there, so that whoever reads it finds them.
--
-- KEYS[1]  hash {channel, epoch, revision, offered, index, release:<edition>…} of the channel
-- ARGV[1]  id of the channel
-- ARGV[2]  epoch of the new snapshot, a whole number
-- ARGV[3]  revision of the new snapshot, a whole number
-- ARGV[4]  number of its releases that were offered
-- ARGV[5]  index of the new snapshot: a line, then editions with spaces between them, some with a `*`
-- ARGV[6]… edition and text of releases that are probably not there yet, any number of them
-- Returns  {'stored'}; {'kept', epoch, revision} when the stored one is as new; {'missing', edition…} when
--          releases are not there, which the caller writes before it tries again

local stored = redis.call('HMGET', KEYS[1], 'channel', 'epoch', 'revision', 'offered')
if stored[1] == ARGV[1] then
  local gain = 0
  for place = 2, 4 do
    gain = tonumber(ARGV[place]) - tonumber(stored[place])
    if gain ~= 0 then break end
  end
  if gain <= 0 then return {'kept', stored[2], stored[3]} end
end

for argument = 6, #ARGV, 2 do
  redis.call('HSET', KEYS[1], 'release:' .. ARGV[argument], ARGV[argument + 1])
end
local reply = {'missing'}
local count = 0
local wanted = {}
for edition in string.gmatch(string.match(ARGV[5], '\n(.*)'), '[^ *]+') do
  local field = 'release:' .. edition
  count = count + 1
  wanted[field] = true
  if redis.call('HEXISTS', KEYS[1], field) == 0 then
    reply[#reply + 1] = edition
  end
end
if #reply > 1 then
  return reply
end

redis.call('HSET', KEYS[1],
  'channel', ARGV[1], 'epoch', ARGV[2], 'revision', ARGV[3], 'offered', ARGV[4], 'index', ARGV[5])
-- Releases that no snapshot names any more go once they are as many as the others, which is rare.
if redis.call('HLEN', KEYS[1]) > 2 * count + 64 then
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 8) == 'release:' and not wanted[field] then
      redis.call('HDEL', KEYS[1], field)
    end
  end
end
return {'stored'}
