import { aheadOps } from './lua-ahead.ts';

/** Values of each operation of a group, which have the same plan. */
export const valuesOf = {
  enter: 2,
  hold: 2,
  settle: 4,
  giveBack: 5,
  read: 0,
  leave: 1,
  running: 0,
  enterAhead: 1,
  enterBack: 3,
  holdAhead: 5,
  take: 5,
  holdBack: 4,
} as const;

/** The answer of a group whose operations are answered one by one. Else one answer counts for all. */
export const each = 8;

/** A lease that nobody renews runs out: its process is gone. */
export const leaseMs = 30_000;

/**
 * Loads the scopes of a plan, whose keys are the account's running requests and hashes of scopes. A scope that is
 * absent or of another generation must be seeded before anything is counted in it. What the operation will look at is
 * loaded with the scope: each further look would be a separate call.
 */
const luaScopes = `
-- Adds the names of a total, of its oldest bucket and of the bucket of now; week and month share theirs.
local function wanted(names, m, sp, counting)
  local n = #names
  local total = totalOf[m][sp]
  if not total then
    names[n + 1] = 'dT'
    names[n + 2] = 'dE'
    for i, field in ipairs({'f', 'u', 'a', 'e'}) do names[n + 2 + i] = periodOf(sp).name .. field end
    return
  end
  if m == 'd' and sp == '5' and counting then
    n = n + 1
    names[n] = 'dT'
  end
  names[n + 1] = total[1]
  names[n + 2] = total[2]
  if counting and sp ~= '7' then names[n + 3] = bucketField(m, spans[sp], serverNow) end
end

-- namesOf(i): what to load of the scope i, 'g' and 'l' before all. Or what must be seeded.
local function loadScopes(plan, n, namesOf)
  local o = openAt(plan.keys[1])
  local names = plan.names
  if not names then
    names = {}
    for i = 1, n do names[i] = namesOf(i) end
    plan.names = names
  end
  local scopes, missing, now = {}, nil, serverNow
  for i = 1, n do
    local s = scopeAt(plan.keys[1 + i], names[i])
    if not o.current or not s.g or s.g ~= o.g then
      missing = missing or {3}
      missing[#missing + 1] = i
    else
      scopes[i] = s
      if s.l > now then now = s.l end
    end
  end
  return missing, scopes, now, o
end

local function shared(names)
  return function() return names end
end

-- Values of a group begin at ARGV[at], 'width' of each of its n operations. All of it is done as one where all of it
-- passes, which comes to the same as one after the other: some(at, n) writes nothing when it answers 1.
local function together(some, at, n, width)
  local answer = some(at, n)
  if n == 1 or answer[1] ~= 1 then return answer end
  local each = {${each}}
  for i = 0, n - 1 do each[2 + i] = some(at + i * width, 1) end
  return each
end

local ops = {}
`;

/**
 * Admits a call before its body is read. Values: request, milli-calls. Arguments of the plan: 1 number of scopes, 2
 * number of limits, then for each limit its scope's place and what is allowed, then for each set of places what is
 * allowed; keys of places come after the scopes. Answers 0, (used, leaves at) of each limit, how many run in each set
 * of places; 1, which of limits and places, used, free at, now.
 */
const enterOp = `
local function callNames()
  local names = {'g', 'l'}
  wanted(names, 'c', '1', true)
  return names
end

function ops.enter(plan, at, n)
  local args = plan.args
  local nScopes, nLimits = tonumber(args[1]), tonumber(args[2])
  local now, scopes = nil, {}
  if nScopes > 0 then
    local missing
    missing, scopes, now = loadScopes(plan, nScopes, callNames)
    if missing then return missing end
  end
  local base = 2 + 2 * nLimits
  local nPlaces = #plan.keys - 1 - nScopes

  local function some(first, count)
    local last, cost = first + 2 * count - 1, 0
    for a = first, last, 2 do cost = cost + tonumber(ARGV[a + 1]) end
    local full, fullAt, fullUsed
    for i = 1, nLimits do
      local s, allowed = scopes[tonumber(args[1 + 2 * i])], tonumber(args[2 + 2 * i])
      local total, oldest = live(s, 'c', '1', now)
      local over = above(total, cost, allowed, 'exact')
      if over > 0 then
        if count > 1 then return {1} end
        local free = freeAt(s, 'c', '1', total, oldest, over)
        if not full or (fullAt >= 0 and (free < 0 or free > fullAt)) then full, fullAt, fullUsed = i, free, total end
      end
    end
    if full then return {1, full, fullUsed, fullAt, now} end
    for i = 1, nPlaces do
      local p, allowed = setAt(plan.keys[1 + nScopes + i]), tonumber(args[base + i])
      local running = countOf(p)
      if allowed >= 0 and running + count > allowed and (count > 1 or not isIn(p, ARGV[first])) then
        return {1, nLimits + i, running, -1}
      end
    end
    for i = 1, nPlaces do
      local p = setAt(plan.keys[1 + nScopes + i])
      for a = first, last, 2 do p.w[ARGV[a]] = true end
      p.n = p.n + count
    end
    for i = 1, nScopes do
      if cost > 0 then add(scopes[i], 'c', cost, now) end
      touch(scopes[i], now, plan.keys[1])
    end
    local answer = {0}
    for i = 1, nLimits do
      local s = scopes[tonumber(args[1 + 2 * i])]
      local total, oldest = live(s, 'c', '1', now)
      answer[2 * i] = total
      answer[2 * i + 1] = leavesAt('1', total, oldest)
    end
    for i = 1, nPlaces do answer[#answer + 1] = setAt(plan.keys[1 + nScopes + i]).n end
    return answer
  end
  return together(some, at, n, 2)
end
`;

/**
 * Holds units once the model is known. Values: request, milli-units. Arguments of the plan: 1 number of scopes to count
 * in, 2 their names, 3 number of scopes in all, 4 milli-calls for limits of calls, then for each limit its scope's
 * place, measure, span, allowed, rule. Answers 0, the instant at which the units count, and (used, leaves at) of each
 * limit; 1, which limit, used, free at, now.
 */
const holdOp = `
local function holdNames(plan, counted)
  local args, further = plan.args, {}
  local limits = {}
  for a = 5, #args, 5 do
    local at, m, sp = tonumber(args[a]), args[a + 1], args[a + 2]
    limits[#limits + 1] = { at, m, sp, tonumber(args[a + 3]), args[a + 4] }
    if m ~= 'u' or at > counted then
      local list = further[at] or {}
      further[at] = list
      wanted(list, m, sp, m == 'c')
    end
  end
  plan.limits = limits
  local units = {'g', 'l'}
  for _, sp in ipairs(spansOf.u) do wanted(units, 'u', sp, true) end
  return function(i)
    local list = further[i]
    if not list then return units end
    local names = i <= counted and {unpack(units)} or {'g', 'l'}
    for j = 1, #list do names[#names + 1] = list[j] end
    return names
  end
end

local function holdAnswer(limits, scopes, quotaMs, now)
  local answer = {0, quotaMs}
  for i = 1, #limits do
    local limit = limits[i]
    local sp = limit[3]
    local total, oldest = live(scopes[limit[1]], limit[2], sp, now)
    answer[1 + 2 * i] = total
    answer[2 + 2 * i] = leavesAt(sp, total, oldest)
  end
  return answer
end

function ops.hold(plan, at, n)
  local args = plan.args
  local counted, nScopes, callMilli = tonumber(args[1]), tonumber(args[3]), tonumber(args[4])
  local missing, scopes, now, o = loadScopes(plan, nScopes, plan.names or holdNames(plan, counted))
  if missing then return missing end
  local limits = plan.limits
  loadEntries(o, at, n, 2)

  local function some(first, count)
    local last, cost, seen = first + 2 * count - 1, 0, {}
    for a = first, last, 2 do
      local id = ARGV[a]
      local entry = entryOf(o, id)
      -- Asked twice: granted, and not counted again.
      if entry and count == 1 then return holdAnswer(limits, scopes, tonumber(string.match(entry, '^%d+')), now) end
      if entry or seen[id] then return {1} end
      seen[id] = true
      cost = cost + tonumber(ARGV[a + 1])
    end
    local full, fullAt, fullUsed
    for i = 1, #limits do
      local limit = limits[i]
      local s, m, sp = scopes[limit[1]], limit[2], limit[3]
      local total, oldest = live(s, m, sp, now)
      local own = m == 'u' and cost or m == 'c' and callMilli * count or 0
      local over = above(total, own, limit[4], limit[5])
      if over > 0 then
        if count > 1 then return {1} end
        local free = freeAt(s, m, sp, total, oldest, over)
        if not full or (fullAt >= 0 and (free < 0 or free > fullAt)) then full, fullAt, fullUsed = i, free, total end
      end
    end
    if full then return {1, full, fullUsed, fullAt, now} end
    local called = {}
    for i = 1, #limits do
      local limit = limits[i]
      local s = scopes[limit[1]]
      if limit[2] == 'c' and not called[s] then
        called[s] = true
        add(s, 'c', callMilli * count, now)
      end
    end
    for i = 1, nScopes do
      local s = scopes[i]
      if i <= counted and cost > 0 then add(s, 'u', cost, now) end
      touch(s, now, o.k)
    end
    for a = first, last, 2 do putEntry(o, ARGV[a], format('%d|%s|%s', now, ARGV[a + 1], args[2])) end
    return holdAnswer(limits, scopes, now, now)
  end
  return together(some, at, n, 2)
end
`;

/**
 * Takes back what a settled request paid, where it still counts. Values: milli-units, tokens, nano-USD, the instants that
 * they were counted at. A scope that must be seeded gets it from the ledger.
 */
const giveBackOp = `
function ops.giveBack(plan, at, n)
  local paid = {'g', 'l'}
  for _, m in ipairs({'u', 't', 'd'}) do
    for _, sp in ipairs(spansOf[m]) do wanted(paid, m, sp, false) end
  end
  local missing, scopes, now = loadScopes(plan, #plan.keys - 1, shared(paid))
  if missing then return missing end
  for a = at, at + 5 * n - 1, 5 do
    for i, m in ipairs({'u', 't', 'd'}) do
      local amount, from = tonumber(ARGV[a + i - 1]), tonumber(ARGV[a + (i == 1 and 3 or 4)])
      for _, s in ipairs(scopes) do
        if amount > 0 then sub(s, m, amount, from, now) end
      end
    end
  end
  return {0, 1}
end
`;

/** Reads how full limits are. Arguments of the plan: for each limit its scope's place, measure, span. */
const readOp = `
function ops.read(plan)
  local args, names = plan.args, {}
  for a = 1, #args, 3 do
    local at = tonumber(args[a])
    names[at] = names[at] or {'g', 'l'}
    wanted(names[at], args[a + 1], args[a + 2], false)
  end
  local missing, scopes, now = loadScopes(plan, #plan.keys - 1, function(i) return names[i] end)
  if missing then return missing end
  local answer = {0}
  for a = 1, #args, 3 do
    local s, m, sp = scopes[tonumber(args[a])], args[a + 1], args[a + 2]
    local total, oldest = live(s, m, sp, now)
    local n = #answer
    answer[n + 1] = total
    answer[n + 2] = leavesAt(sp, total, oldest)
  end
  return answer
end
`;

/**
 * Settles a hold. Values: request, milli-units kept, tokens, nano-USD. Arguments of the plan: the names of its scopes.
 * Acts once: on the entry of the request, in those scopes that count it as running.
 */
const settleOp = `
local spentNames = {'g', 'l'}
for _, sp in ipairs(spansOf.t) do wanted(spentNames, 't', sp, true) end
for _, sp in ipairs(spansOf.d) do wanted(spentNames, 'd', sp, true) end

function ops.settle(plan, at, n)
  local missing, scopes, now, o = loadScopes(plan, #plan.keys - 1, shared(spentNames))
  if missing then return missing end
  loadEntries(o, at, n, 4)
  plan.joined = plan.joined or table.concat(plan.args, '\\n')
  -- What requests that count in all of these scopes came to is added at once.
  local allTokens, allUsd, ended = 0, 0, false
  for a = at, at + 4 * n - 1, 4 do
    local id = ARGV[a]
    local entry = entryOf(o, id)
    if entry then
      local quotaMs, held, names = string.match(entry, '^(%d+)|(%d+)|(.*)$')
      local back, tokens, usd = tonumber(held) - tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
      local isAll, runsIn = names == plan.joined, {}
      if isAll then
        allTokens, allUsd, ended = allTokens + tokens, allUsd + usd, true
      else
        for name in string.gmatch(names, '[^\\n]+') do runsIn[name] = true end
      end
      if back > 0 or not isAll then
        for i, s in ipairs(scopes) do
          if isAll or runsIn[plan.args[i]] then
            if back > 0 then sub(s, 'u', back, tonumber(quotaMs), now) end
            if not isAll then
              if tokens > 0 then add(s, 't', tokens, now) end
              if usd > 0 then add(s, 'd', usd, now) end
              touch(s, now, o.k)
            end
          end
        end
      end
      putEntry(o, id, false)
    end
  end
  if ended then
    for _, s in ipairs(scopes) do
      if allTokens > 0 then add(s, 't', allTokens, now) end
      if allUsd > 0 then add(s, 'd', allUsd, now) end
      touch(s, now, o.k)
    end
  end
  return {0}
end
`;

/** Places: `leave` gives those of a request (its value) back, `running` counts them. Keys of the plan: the sets. */
const placesOps = `
function ops.leave(plan, at, n)
  for _, key in ipairs(plan.keys) do
    local p = setAt(key)
    for a = at, at + n - 1 do
      local id = ARGV[a]
      if p.n and isIn(p, id) then p.n = p.n - 1 end
      p.w[id] = false
    end
  end
  return {0}
end

function ops.running(plan)
  local answer = {0}
  for i, key in ipairs(plan.keys) do answer[1 + i] = countOf(setAt(key)) end
  return answer
end
`;

/** Operations of requests, by name: each of a plan, and of a group of values. */
export const luaOps = [luaScopes, enterOp, holdOp, giveBackOp, readOp, settleOp, placesOps, aheadOps].join('');
