import type { Crossing, Notice, NoticeStore } from '../src/books/metering/notices/notice-store.ts';

/** The port of notices in this process alone, for tests. Answers a turn later, as a database does. */
export function memoryNoticeStore(): NoticeStore & {
  queued(): readonly Notice[];
  /** Notes a crossing, as another process would. */
  put(crossing: Crossing): void;
  failing: boolean;
} {
  const crossings = new Map<string, Crossing>();
  const notices = new Map<string, Notice & { nextMs: number }>();
  const nameOf = (scope: string, limit: string, share: number) => `${scope} ${limit} ${share}`;
  const turn = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (store.failing) throw new Error('the store is gone');
  };
  const store = {
    failing: false,
    queued: () => [...notices.values()],
    put: (crossing: Crossing) => void crossings.set(nameOf(crossing.scope, crossing.limit, crossing.share), crossing),
    async cross(crossing: Crossing, notice: Notice) {
      await turn();
      const name = nameOf(crossing.scope, crossing.limit, crossing.share);
      if (crossings.has(name)) return false;
      crossings.set(name, crossing);
      notices.set(notice.id, { ...notice, nextMs: notice.createdMs });
      return true;
    },
    async rearm(scope: string, limit: string, share: number) {
      await turn();
      crossings.delete(nameOf(scope, limit, share));
    },
    async crossed(scope: string) {
      await turn();
      return [...crossings.values()].filter((one) => one.scope === scope);
    },
    async crossings(behind: Omit<Crossing, 'crossedMs'> | null, limit: number) {
      await turn();
      const placeOf = ({ scope, limit: of, share }: Omit<Crossing, 'crossedMs'>) => nameOf(scope, of, share);
      const ordered = [...crossings.values()].toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
      return ordered.filter((one) => behind === null || placeOf(one) > placeOf(behind)).slice(0, limit);
    },
    async due(nowMs: number, leaseUntilMs: number, limit: number, but: readonly string[] = []) {
      await turn();
      const waiting = [...notices.values()].filter((notice) => notice.nextMs <= nowMs && !but.includes(notice.plan));
      const turns = new Map<Notice, number>();
      const seen = new Map<string, number>();
      for (const notice of waiting) {
        const nth = seen.get(notice.plan) ?? 0;
        turns.set(notice, nth);
        seen.set(notice.plan, nth + 1);
      }
      const due = waiting.toSorted((a, b) => turns.get(a)! - turns.get(b)!).slice(0, limit);
      for (const notice of due) notice.nextMs = leaseUntilMs;
      return due.map(({ nextMs: _, ...notice }) => notice);
    },
    async retry(id: string, { tries, nextMs }: { tries: number; nextMs: number }) {
      await turn();
      const notice = notices.get(id);
      if (notice !== undefined) notices.set(id, { ...notice, tries, nextMs });
    },
    async end(id: string) {
      await turn();
      notices.delete(id);
    },
    list: () => Promise.reject(new Error('no history is kept here')),
  };
  return store;
}
