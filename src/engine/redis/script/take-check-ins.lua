-- Takes batches: first those that a taker left unacknowledged for too long, then new ones; both in the order
-- they were appended in, and every abandoned one is older than every new one. Never blocks.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  the consumer group of all takers
-- ARGV[2]  the taker
-- ARGV[3]  how many batches at most, at least 1
-- ARGV[4]  milliseconds after which an unacknowledged batch is abandoned
-- ARGV[5]  1 when this taker is new
-- Returns  {id, packed batch, id, packed batch, …}
--
-- Must do with commands that Redis allows when its memory is at the limit: taking is what makes room.

local stream, group, taker, abandoned = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
local missing = tonumber(ARGV[3])
local taken = {}

local function keep(entries)
  for _, entry in ipairs(entries) do
    -- Before Redis 7 what was deleted from outside is answered as false.
    if entry then
      table.insert(taken, entry[1])
      table.insert(taken, entry[2][2])
      missing = missing - 1
    end
  end
end

local function claim(call, cursor)
  return call('XAUTOCLAIM', stream, group, taker, abandoned, cursor, 'COUNT', missing)
end

-- Step 1: what was abandoned. The group comes with the first take; it is gone when Redis was restarted
-- empty. One claim looks at no more than ten times what it may take, hence the loop.
local claimed = claim(redis.pcall, '0-0')
if claimed.err and string.sub(claimed.err, 1, 7) == 'NOGROUP' then
  redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
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

-- Step 2: what nobody has taken.
if missing > 0 then
  local reply = redis.call(
    'XREADGROUP', 'GROUP', group, taker, 'COUNT', missing, 'STREAMS', stream, '>')
  if reply then
    keep(reply[1][2])
  end
end

-- Step 3: a new taker sweeps out those that are gone and left nothing behind, so that their names do not
-- pile up with every restart of a node. One that was only away is there again with its next take.
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
