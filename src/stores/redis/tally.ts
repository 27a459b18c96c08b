import type { SharedTally, Tallied } from '../../books/metering/tally.ts';
import type { Link } from './link.ts';
import { luaWindows } from './lua-windows.ts';
import { script } from './script.ts';
import type { Reply } from './wire.ts';

/** KEYS: from 2 on, the counts; ARGV[3]: the window in ms to count one more of each, '' to look alone. */
export const tallyScript = script(`${luaWindows}
local answer = {0}
for i = 2, #KEYS do
  local count
  if ARGV[3] == '' then
    count = tonumber(call('GET', KEYS[i]) or '0')
  else
    count = call('INCR', KEYS[i])
    if count == 1 then call('PEXPIRE', KEYS[i], ARGV[3]) end
  end
  answer[#answer + 1] = count
  answer[#answer + 1] = math.max(0, call('PTTL', KEYS[i]))
end
return answer
`);

/** Counts that are gone with Redis, and expire when their window is over. */
export function createRedisTally(link: Pick<Link, 'run'>): SharedTally {
  async function readTally(names: readonly string[], windowMs: string): Promise<readonly Tallied[] | null> {
    const keys = names.map((name) => `tally:${name}`);
    const answer = await link.run(tallyScript, keys, [windowMs]);
    return typeof answer === 'string' ? null : talliedOf(answer, names.length);
  }
  return { read: (names) => readTally(names, ''), add: (names, windowMs) => readTally(names, String(windowMs)) };
}

function talliedOf(answer: readonly Reply[], names: number): Tallied[] {
  return Array.from({ length: names }, (_, at) => ({
    count: Number(answer[1 + 2 * at]),
    leftMs: Number(answer[2 + 2 * at]),
  }));
}
