import { randomUUID } from 'node:crypto';

/**
 * A limit with less than this many times the wanted amount left is counted exactly: nothing is booked ahead of it. Then
 * leases of some twenty replicas have ended before what is left is used up.
 */
const aheadOf = 64;

/** Age of a running request from which the sweep looks after it: its reservation is in the ledger, or was refused. */
export const oldMs = 30_000;

/** Whose entry it is: no request has such an id. */
const leaseIdPrefix = 'lease:';

export function newLeaseId(): string {
  return leaseIdPrefix + randomUUID();
}

export function isLeaseId(id: string): boolean {
  return id.startsWith(leaseIdPrefix);
}

/**
 * Headroom that is booked as used before requests come (headroom.ts). A lease of units is a running request to all other
 * scripts: an entry with its own id, whose units count from its instant. Nobody else gives them back.
 */
export const aheadOps = `
-- By which a client knows whether the scopes were seeded since.
local function versionOf(o, scopes)
  local version = { o.g }
  for i = 1, #scopes do version[1 + i] = text(get(scopes[i], 'n')) end
  return table.concat(version, ':')
end

local function isFar(total, wanted, allowed, rule)
  if allowed < 0 then return true end
  if allowed - total < ${aheadOf} * wanted then return false end
  return rule == 'exact' or total < allowed * 0.9
end

-- Milli-calls. Answers 0, the instant at which they count, the version, and the states as 'enter'; 0 and 0: none.
function ops.enterAhead(plan, at)
  local args, wantedMilli = plan.args, tonumber(ARGV[at])
  local missing, scopes, now, o = loadScopes(plan, tonumber(args[1]), callNames)
  if missing then return missing end
  local answer = {0, now, versionOf(o, scopes)}
  for i = 1, tonumber(args[2]) do
    local s, allowed = scopes[tonumber(args[1 + 2 * i])], tonumber(args[2 + 2 * i])
    local total, oldest = live(s, 'c', '1', now)
    if not isFar(total, wantedMilli, allowed, 'exact') then return {0, 0} end
    answer[2 + 2 * i] = total + wantedMilli
    answer[3 + 2 * i] = leavesAt('1', total + wantedMilli, total == 0 and floor(now / 1000) or oldest)
  end
  for _, s in ipairs(scopes) do
    add(s, 'c', wantedMilli, now)
    touch(s, now, o.k)
  end
  return answer
end

-- What was not used: milli-calls, their instant, the version.
function ops.enterBack(plan, at, n)
  local missing, scopes, now, o = loadScopes(plan, tonumber(plan.args[1]), callNames)
  if missing then return {0} end
  for a = at, at + 3 * n - 1, 3 do
    if ARGV[a + 2] == versionOf(o, scopes) then
      for _, s in ipairs(scopes) do sub(s, 'c', tonumber(ARGV[a]), tonumber(ARGV[a + 1]), now) end
    end
  end
  return {0}
end

-- Scopes with limits of calls, once each.
local function calledIn(limits, scopes)
  local list, seen = {}, {}
  for _, limit in ipairs(limits) do
    local s = scopes[limit[1]]
    if limit[2] == 'c' and not seen[s] then
      seen[s] = true
      list[#list + 1] = s
    end
  end
  return list
end

-- Id of the lease, milli-units, requests, tokens and nano-USD that as many came to. Answers as 'enterAhead'.
function ops.holdAhead(plan, at)
  local args, id, wantedMilli, requests = plan.args, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local spent = { t = tonumber(ARGV[at + 3]), d = tonumber(ARGV[at + 4]) }
  local counted, nScopes, callMilli = tonumber(args[1]), tonumber(args[3]), tonumber(args[4])
  local missing, scopes, now, o = loadScopes(plan, nScopes, plan.names or holdNames(plan, counted))
  if missing then return missing end
  local limits = plan.limits
  for i = 1, #limits do
    local limit = limits[i]
    local m = limit[2]
    local own = m == 'u' and wantedMilli or m == 'c' and callMilli * requests or spent[m]
    if not isFar(live(scopes[limit[1]], m, limit[3], now), own, limit[4], limit[5]) then return {0, 0} end
  end
  for _, s in ipairs(calledIn(limits, scopes)) do add(s, 'c', callMilli * requests, now) end
  for i = 1, nScopes do
    if i <= counted then add(scopes[i], 'u', wantedMilli, now) end
    touch(scopes[i], now, o.k)
  end
  putEntry(o, id, format('%d|%d|%s', now, wantedMilli, args[2]))
  local answer = holdAnswer(limits, scopes, now, now)
  table.insert(answer, 3, versionOf(o, scopes))
  return answer
end

-- A request that was admitted from a lease: lease, request, milli-units, the lease's instant, its generation. The units
-- are the request's from here on. What another generation knows of the request, it has from the ledger. Told twice, it
-- acts once.
function ops.take(plan, at, n)
  local o = openAt(plan.keys[1])
  plan.joined = plan.joined or table.concat(plan.args, '\\n')
  for a = at, at + 5 * n - 1, 5 do
    local lease, id, cost = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
    local isOld = serverNow - tonumber(ARGV[a + 3]) >= ${oldMs}
    if o.current and o.g == ARGV[a + 4] and not isOld and not entryOf(o, id) then
      local entry = entryOf(o, lease)
      if entry then
        local countedAt, units, names = string.match(entry, '^(%d+)|(%d+)|(.*)$')
        putEntry(o, lease, format('%s|%d|%s', countedAt, math.max(0, tonumber(units) - cost), names))
      end
      putEntry(o, id, format('%s|%d|%s', ARGV[a + 3], cost, plan.joined))
    end
  end
  return {0}
end

-- The end of a lease: its id, milli-units and requests that were not used, the version. The rest of its units stays:
-- requests that will say that they took them, or that cannot any more.
function ops.holdBack(plan, at, n)
  local args = plan.args
  local counted, nScopes, callMilli = tonumber(args[1]), tonumber(args[3]), tonumber(args[4])
  local missing, scopes, now, o = loadScopes(plan, nScopes, plan.names or holdNames(plan, counted))
  if missing then return missing end
  local name = {}
  for scope in string.gmatch(args[2], '[^\\n]+') do name[#name + 1] = scope end
  for a = at, at + 4 * n - 1, 4 do
    local entry = entryOf(o, ARGV[a])
    if entry then
      local countedAt, units, names = string.match(entry, '^(%d+)|(%d+)|(.*)$')
      local runsIn = {}
      for scope in string.gmatch(names, '[^\\n]+') do runsIn[scope] = true end
      local back, calls = math.min(tonumber(ARGV[a + 1]), tonumber(units)), tonumber(ARGV[a + 2]) * callMilli
      for i = 1, counted do
        if back > 0 and runsIn[name[i]] then sub(scopes[i], 'u', back, tonumber(countedAt), now) end
      end
      if calls > 0 and ARGV[a + 3] == versionOf(o, scopes) then
        for _, s in ipairs(calledIn(plan.limits, scopes)) do sub(s, 'c', calls, tonumber(countedAt), now) end
      end
      putEntry(o, ARGV[a], false)
    end
  end
  return {0}
end
`;
