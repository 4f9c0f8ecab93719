-- Counts the batches of streams of check-ins. Changes nothing.
--
-- KEYS     streams of batches
-- Returns  {number of batches, …}, one for each stream; 0 for one that does not exist

local counts = {}
for index, stream in ipairs(KEYS) do
  counts[index] = redis.call('XLEN', stream)
end
return counts
