-- Sends prepared requests with wrk, round robin, and prints the results as JSON.
--
--   wrk -t1 -c32 -d2s -s load.lua http://HOST:PORT < requests
--
-- Standard input holds complete HTTP requests, separated by zero bytes. {number} in a request is
-- replaced by a number of eight digits, which is different each time.

local requests, sent = {}, 0

function init()
  for text in io.read("*a"):gmatch("%Z+") do
    requests[#requests + 1] = { text = text, numbered = text:find("{number}", 1, true) ~= nil }
  end
end

function request()
  local next = requests[sent % #requests + 1]
  sent = sent + 1
  if next.numbered then
    return (next.text:gsub("{number}", string.format("%08d", sent)))
  end
  return next.text
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"responses": %d, "seconds": %f, "refused": %d, "broken": %d, "median_ms": %f, "last_ms": %f}',
    summary.requests,
    summary.duration / 1e6,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000,
    latency:percentile(99) / 1000
  ))
end
