-- Stores a snapshot unless the stored one, of the same channel, is at least as new: by epoch, then revision,
-- then number of offered releases (within a revision it only grows). A stored snapshot with another channel
-- id was left by another database and is replaced.
--
-- Each release edition is a field, which the next snapshots reuse. A snapshot is stored only when all its
-- releases are, so that readers find them. If it was made from the stored snapshot, only added releases can
-- be missing, and those come with the call.
--
-- KEYS[1]  hash {channel, epoch, revision, offered, index, release:<edition>…} of the channel
-- ARGV[1]  id of the channel
-- ARGV[2]  epoch of the new snapshot, a whole number
-- ARGV[2]  epoch of the new snapshot
-- ARGV[3]  revision of the new snapshot
-- ARGV[4]  number of its offered releases
-- ARGV[5]  index of the new snapshot: a line, then editions separated by spaces, each with `~`, `*`, both or
-- none ARGV[6]  number of its releases ARGV[7]  epoch, revision and number of offered releases, separated by
-- spaces, of the snapshot from which it
--          differs only by the releases of this call; empty if there is none
-- ARGV[8]… edition and text of each release that Redis probably lacks
-- Returns  {'stored'}; {'kept', epoch, revision} if the stored one is as new; {'missing', edition…} for
-- releases
--          that the caller must write first

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
-- Unused releases are removed once there are as many as used ones plus 64, which is rare.
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
