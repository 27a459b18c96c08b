import type { LoggedBodies } from './services.ts';

/** Characters of all bodies together; beyond them the oldest go. Each has at most 64 KB, as in the log. */
const recentCharsMax = 16 * 1024 * 1024;

/** The newest bodies of keys that `telemetry.log.bodies` names, in memory, for views of a request. */
export interface RecentBodies {
  add(bodies: LoggedBodies): void;
  find(requestId: string): LoggedBodies | null;
}

export function createRecentBodies(): RecentBodies {
  const byRequest = new Map<string, LoggedBodies>();
  let chars = 0;
  const size = ({ request, answer }: LoggedBodies) => request.length + answer.length;

  return {
    add(bodies) {
      byRequest.set(bodies.requestId, bodies);
      chars += size(bodies);
      for (const [id, oldest] of byRequest) {
        if (chars <= recentCharsMax) break;
        byRequest.delete(id);
        chars -= size(oldest);
      }
    },
    find: (requestId) => byRequest.get(requestId) ?? null,
  };
}
