-- Appends a packed batch of check-ins to the stream, unless the queue is at its bound.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  maximum number of bytes in the queue
-- ARGV[2]  number of bytes that a batch counts beside its payload
-- ARGV[3]  the packed batch
-- Returns  1 when it was accepted, 0 when the queue is full
--
-- Each entry says how many bytes were appended up to its own end, so that the oldest and the newest entry
-- tell what is between them. There is no counter beside the stream that could drift from it, or that a
-- Redis Cluster would keep elsewhere. Batches that were acknowledged out of their order count until the
-- older ones are. Entries of versions of Sluice that knew no totals count as none.

local function total_of(entry)
  return entry and tonumber(entry[2][4]) or 0
end

local stream = KEYS[1]
local size = #ARGV[3] + tonumber(ARGV[2])
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
local total = 0
if oldest then
  total = total_of(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1])
  local before_oldest = total_of(oldest) - #oldest[2][2] - tonumber(ARGV[2])
  if total - before_oldest >= tonumber(ARGV[1]) then
    return 0
  end
end
redis.call('XADD', stream, '*', 'batch', ARGV[3], 'total', string.format('%.0f', total + size))
return 1
