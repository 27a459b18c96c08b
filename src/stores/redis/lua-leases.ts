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

/** Nothing but whether the epoch is still ours. */
export const pulseScript = script(`${luaWindows}
return {0}
`);
