-- Removes all that is held of the labels of devices.
--
-- KEYS[i]  hash of one device, as in get-labels.lua
-- Returns  0, without meaning

for _, key in ipairs(KEYS) do
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, #ACTIONS) ~= ACTIONS then
      redis.call('HDEL', key, field)
    end
  end
end
return 0
