import type { LoggedBodies } from './services.ts';

/** Characters of all bodies together; beyond them the oldest go. Each has at most 64 KB, as in the log. */
const recentCharsMax = 16 * 1024 * 1024;

/** The newest bodies of keys that `telemetry.log.bodies` names, in memory, for views of a request. */
export type RecentBodies = ReturnType<typeof createRecentBodies>;

type BodiesByRequest = ReadonlyMap<string, LoggedBodies>;
type Elsewhere = (requestIds: readonly string[]) => Promise<BodiesByRequest>;
const nowhere: Elsewhere = async () => new Map();

export function createRecentBodies() {
  const byRequest = new Map<string, LoggedBodies>();
  let chars = 0;
  const size = ({ request, answer }: LoggedBodies) => request.length + answer.length;

  return {
    add(bodies: LoggedBodies): void {
      byRequest.set(bodies.requestId, bodies);
      chars += size(bodies);
      for (const [id, oldest] of byRequest) {
        if (chars <= recentCharsMax) break;
        byRequest.delete(id);
        chars -= size(oldest);
      }
    },
    find: (requestId: string): LoggedBodies | null => byRequest.get(requestId) ?? null,
    /** Bodies of these requests, as far as they are there, or `elsewhere`. */
    async findAll(requestIds: readonly string[], elsewhere: Elsewhere = nowhere): Promise<BodiesByRequest> {
      const found = new Map<string, LoggedBodies>();
      const missing: string[] = [];
      for (const id of requestIds) {
        const bodies = byRequest.get(id);
        if (bodies === undefined) missing.push(id);
        else found.set(id, bodies);
      }
      return missing.length === 0 ? found : new Map([...found, ...(await elsewhere(missing))]);
    },
  };
}
