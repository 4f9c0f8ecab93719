-- Stores a snapshot unless the stored one is of the same channel and at least as new: by epoch, then by
-- revision, then by the number of offered releases (within a revision they only grow).
-- A stored snapshot with another channel id is left over from another database and is replaced.
--
-- Releases are fields of their own, by edition, and stay as they are from one snapshot to the next. A snapshot
-- is stored only when all its releases are there, so that whoever reads it finds them. If the stored snapshot is
-- the one that the new one was made from, only what was added can be missing, and that comes with the call.
--
-- KEYS[1]  hash {channel, epoch, revision, offered, index, release:<edition>…} of the channel
-- ARGV[1]  id of the channel
-- ARGV[2]  epoch of the new snapshot, a whole number
-- ARGV[3]  revision of the new snapshot, a whole number
-- ARGV[4]  number of its releases that were offered
-- ARGV[5]  index of the new snapshot: a line, then editions with spaces between them, some with a `~`, a `*` or both
-- ARGV[6]  number of its releases
-- ARGV[7]  epoch, revision and number of offered releases, with spaces between them, of the snapshot from which
--          it differs only by the releases of this call; empty when there is none
-- ARGV[8]… edition and text of releases that are probably not there yet, any number of them
-- Returns  {'stored'}; {'kept', epoch, revision} when the stored one is as new; {'missing', edition…} when
--          releases are not there, which the caller writes before it tries again

local stored = redis.call('HMGET', KEYS[1], 'channel', 'epoch', 'revision', 'offered')
local isBase = false
if stored[1] == ARGV[1] then
  local gain = 0
  for place = 2, 4 do
    gain = tonumber(ARGV[place]) - tonumber(stored[place])
    if gain ~= 0 then break end
  end
  if gain <= 0 then return {'kept', stored[2], stored[3]} end
  isBase = ARGV[7] == table.concat(stored, ' ', 2, 4)
end

for argument = 8, #ARGV, 2 do
  redis.call('HSET', KEYS[1], 'release:' .. ARGV[argument], ARGV[argument + 1])
end
local function editions()
  return string.gmatch(string.match(ARGV[5], '\n(.*)'), '[^ *~]+')
end
if not isBase then
  local reply = {'missing'}
  for edition in editions() do
    if redis.call('HEXISTS', KEYS[1], 'release:' .. edition) == 0 then
      reply[#reply + 1] = edition
    end
  end
  if #reply > 1 then return reply end
end

redis.call('HSET', KEYS[1],
  'channel', ARGV[1], 'epoch', ARGV[2], 'revision', ARGV[3], 'offered', ARGV[4], 'index', ARGV[5])
-- Releases that no snapshot names any more go once they are as many as the others, which is rare.
if redis.call('HLEN', KEYS[1]) > 2 * tonumber(ARGV[6]) + 64 then
  local wanted = {}
  for edition in editions() do
    wanted['release:' .. edition] = true
  end
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 8) == 'release:' and not wanted[field] then
      redis.call('HDEL', KEYS[1], field)
    end
  end
end
return {'stored'}
