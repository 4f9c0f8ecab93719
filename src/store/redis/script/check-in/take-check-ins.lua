-- Takes batches in the order of their appends: first abandoned ones, which a consumer left unacknowledged for
-- too long, then new ones, which are all younger. Never blocks.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  name of the consumer group
-- ARGV[2]  name of the consumer
-- ARGV[3]  maximum number of batches, at least 1
-- ARGV[4]  milliseconds after which an unacknowledged batch is abandoned
-- ARGV[5]  1 for the first take of this consumer
-- ARGV[6]  1 if the consumer may hold batches of a take whose reply was lost: they are then returned alone
-- Returns  {id, packed batch, id, packed batch, …}
--
-- Uses only commands that Redis allows when its memory is full, because taking is what frees memory.

local stream, group, taker, abandoned = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
local missing = tonumber(ARGV[3])
local taken = {}

local function keep(entries)
  for _, entry in ipairs(entries) do
    -- Of an entry deleted from outside, Redis 7 returns the id alone, and an older one false.
    if entry and entry[2] then
      table.insert(taken, entry[1])
      table.insert(taken, entry[2][2])
      missing = missing - 1
    end
  end
end

local function claim(call, cursor)
  return call('XAUTOCLAIM', stream, group, taker, abandoned, cursor, 'COUNT', missing)
end

-- Step 1: what this consumer holds, if it asks. There is nothing before the group is created.
if ARGV[6] == '1' then
  local held = redis.pcall(
    'XREADGROUP', 'GROUP', group, taker, 'COUNT', missing, 'STREAMS', stream, '0')
  if held and not held.err then
    keep(held[1][2])
  end
  if #taken > 0 then
    return taken
  end
end

-- Step 2: abandoned batches. Creates the group on the first take, and again after Redis restarted empty; never
-- the stream, because an append tells by its absence that another program removed it.
-- XAUTOCLAIM scans at most ten times COUNT entries per call, hence the loop.
local claimed = claim(redis.pcall, '0-0')
if claimed.err and string.sub(claimed.err, 1, 7) == 'NOGROUP' then
  if redis.call('EXISTS', stream) == 0 then
    return taken
  end
  redis.call('XGROUP', 'CREATE', stream, group, '0')
  claimed = claim(redis.call, '0-0')
end
if claimed.err then
  return claimed
end
keep(claimed[2])
while missing > 0 and claimed[1] ~= '0-0' do
  claimed = claim(redis.call, claimed[1])
  keep(claimed[2])
end

-- Step 3: new batches.
if missing > 0 then
  local reply = redis.call(
    'XREADGROUP', 'GROUP', group, taker, 'COUNT', missing, 'STREAMS', stream, '>')
  if reply then
    keep(reply[1][2])
  end
end

-- Step 4: on its first take, a consumer deletes idle consumers without pending batches, so that restarts of
-- nodes leave no names behind. Redis creates a deleted consumer again with its next take.
if ARGV[5] == '1' then
  for _, reply in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
    local consumer = {}
    for i = 1, #reply, 2 do
      consumer[reply[i]] = reply[i + 1]
    end
    if consumer.pending == 0 and consumer.idle > tonumber(abandoned) then
      redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer.name)
    end
  end
end
return taken
