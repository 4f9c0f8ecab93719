-- Removes keys whose value has another type than the engine's.
--
-- KEYS[i]  key
-- ARGV[i]  type that its value must have
-- Returns  for each key the type of its removed value, else an empty string

local found = {}
for i, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  found[i] = ''
  if type ~= ARGV[i] and type ~= 'none' then
    redis.call('UNLINK', key)
    found[i] = type
  end
end
return found
