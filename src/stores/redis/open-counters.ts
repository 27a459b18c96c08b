import type { Counters } from '../../books/metering/counters.ts';
import { RedisCounters, type RedisCountersOptions } from './counters.ts';
import { keyServersOf, partOf } from './servers.ts';

/**
 * Opens the counters of one server, or those of each part of a cluster, for a start: they can admit, unless Redis is away
 * for longer than counters take that begin anew. `served`: the counters that requests ask instead.
 */
export async function openRedisCounters(
  { onTrouble, ...options }: Omit<RedisCountersOptions, 'server'>,
  served: (shared: RedisCounters) => Counters,
) {
  const { parts } = keyServersOf(options.url, options.clock);
  const begun = parts.map((server, at) => {
    const words = parts.length === 1 ? 'redis:' : `redis (part ${at + 1} of ${parts.length} of the accounts):`;
    const report: typeof onTrouble = (text, ...level) => onTrouble(text.replace(/^redis:/, words), ...level);
    return RedisCounters.begun({ ...options, server, onTrouble: report });
  });
  const opened = await Promise.all(begun);
  const [first] = opened as [RedisCounters, ...RedisCounters[]];
  const counters = opened.length === 1 ? served(first) : byPart(opened.map(served));
  return { counters, tally: first.tally, hints: first.hints };
}

function byPart(parts: readonly Counters[]): Counters {
  const of = (account: string): Counters => parts[partOf(account)] as Counters;
  return {
    enter: (entry) => of(entry.account).enter(entry),
    hold: (hold) => of(hold.account).hold(hold),
    settle: (held, spent) => of(held.account).settle(held, spent),
    giveBack: (returned) => of(returned.account).giveBack(returned),
    read: (account, limits) => of(account).read(account, limits),
    running: (account, scopes) => of(account).running(account, scopes),
    // A server that fails takes its accounts with it. The others are served as long as one part is.
    trouble() {
      const troubles = parts.map((part) => part.trouble());
      return troubles.includes(null) ? null : (troubles[0] ?? null);
    },
    async close() {
      await Promise.all(parts.map((part) => part.close()));
    },
  };
}
