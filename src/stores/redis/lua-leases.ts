import { leaseMs } from './lua-admit.ts';
import { luaWindows } from './lua-windows.ts';
import { script } from './script.ts';

/** Holds places on, or again after a loss. KEYS: from 2 on, sets of places; ARGV: from 3 on, the request of each. */
export const renewScript = script(`${luaWindows}
local untilMs = serverMs() + ${leaseMs}
for i = 2, #KEYS do
  call('ZADD', KEYS[i], untilMs, ARGV[1 + i])
  call('PEXPIRE', KEYS[i], ${2 * leaseMs})
end
return {0}
`);

/** Gives places back. KEYS and ARGV as above. */
export const leaveScript = script(`${luaWindows}
for i = 2, #KEYS do call('ZREM', KEYS[i], ARGV[1 + i]) end
return {0}
`);

/** Number of running requests. KEYS: from 2 on, sets of places. */
export const runningScript = script(`${luaWindows}
local answer, now = {0}, serverMs()
for i = 2, #KEYS do answer[i] = call('ZCOUNT', KEYS[i], '(' .. string.format('%.0f', now), '+inf') end
return answer
`);

/** Nothing but whether the epoch is still ours. */
export const pulseScript = script(`${luaWindows}
return {0}
`);
