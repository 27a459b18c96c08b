import type { LoggedBodies } from './services.ts';

/** Characters of all bodies together; beyond them the oldest go. Each has at most 64 KB, as in the log. */
const keptCharsMax = 16 * 1024 * 1024;

/** The newest bodies of keys that `telemetry.log.bodies` names, in memory, for views of a request. */
export interface RecentBodies {
  add(bodies: LoggedBodies): void;
  find(requestId: string): LoggedBodies | null;
}

export function createRecentBodies(): RecentBodies {
  const kept = new Map<string, LoggedBodies>();
  let chars = 0;
  const size = ({ request, answer }: LoggedBodies) => request.length + answer.length;

  return {
    add(bodies) {
      kept.set(bodies.requestId, bodies);
      chars += size(bodies);
      for (const [id, oldest] of kept) {
        if (chars <= keptCharsMax) break;
        kept.delete(id);
        chars -= size(oldest);
      }
    },
    find: (requestId) => kept.get(requestId) ?? null,
  };
}
