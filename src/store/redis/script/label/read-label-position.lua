-- Reads the position up to which Redis has all changes of labels, or of actions.
--
-- KEYS[1]  hash {epoch, position, doubted}, as in move-label-position.lua
-- Returns  {epoch, position, milliseconds since entries were put in doubt}, the last -1 when they never were;
--          nil when there is no hash

local held = redis.call('HMGET', KEYS[1], 'epoch', 'position', 'doubted')
if not held[1] or not held[2] then
  return nil
end
if not held[3] then
  return {held[1], held[2], -1}
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return {held[1], held[2], math.max(now - tonumber(held[3]), 0)}
