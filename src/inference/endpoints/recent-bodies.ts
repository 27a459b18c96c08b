import type { LoggedBodies } from './services.ts';

/** Characters of all bodies together; beyond them the oldest go. Each has at most 64 KB, as in the log. */
const recentCharsMax = 16 * 1024 * 1024;

/** The newest bodies of keys that `telemetry.log.bodies` names, in memory, for views of a request. */
export interface RecentBodies {
  add(bodies: LoggedBodies): void;
  find(requestId: string): LoggedBodies | null;
  /** Bodies of these requests, as far as they are there, or `elsewhere`. */
  findAll(requestIds: readonly string[], elsewhere?: Elsewhere): Promise<BodiesByRequest>;
}

type BodiesByRequest = ReadonlyMap<string, LoggedBodies>;
type Elsewhere = (requestIds: readonly string[]) => Promise<BodiesByRequest>;
const nowhere: Elsewhere = async () => new Map();

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
    async findAll(requestIds, elsewhere = nowhere) {
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
