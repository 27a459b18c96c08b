import type { ReplyStore, ReplyTake } from '../src/books/metering/reply-store.ts';

/** The port of kept replies in this process alone, for tests; `boots` are those that are over. */
export function memoryReplyStore(boots: ReadonlySet<string> = new Set()): ReplyStore & { size(): number } {
  interface Row extends ReplyTake {
    reply: { status: number; sealed: Uint8Array | null } | null;
  }
  const rows = new Map<string, Row>();
  const at = (scope: string, key: string) => `${scope}\n${key}`;
  const own = (scope: string, key: string, requestId: string) => {
    const row = rows.get(at(scope, key));
    return row?.requestId === requestId ? row : undefined;
  };
  return {
    size: () => rows.size,
    async take(asked) {
      const row = rows.get(at(asked.scope, asked.key));
      const over = row === undefined || row.expiresMs <= asked.nowMs || (row.reply === null && boots.has(row.bootId));
      if (over) {
        rows.set(at(asked.scope, asked.key), { ...asked, reply: null });
        return { kind: 'taken' };
      }
      const { requestId } = row;
      if (row.bodyHash !== asked.bodyHash) return { kind: 'other-body', requestId };
      return row.reply === null ? { kind: 'in-flight', requestId } : { kind: 'kept', requestId, ...row.reply };
    },
    async keep(scope, key, requestId, reply) {
      const row = own(scope, key, requestId);
      if (row !== undefined) row.reply = reply;
    },
    async release(scope, key, requestId) {
      if (own(scope, key, requestId) !== undefined) rows.delete(at(scope, key));
    },
    async sweep(nowMs) {
      const before = rows.size;
      for (const [name, row] of rows) if (row.expiresMs <= nowMs) rows.delete(name);
      return before - rows.size;
    },
  };
}
