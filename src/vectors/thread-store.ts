import { shardOf } from './embedded/shards/shard-of.ts';
import { moveTenant } from './move-tenant.ts';
import { fromTexts, type TextPage } from './page-texts.ts';
import type { Owner, TenantSummary, VectorStore } from './vector-store.ts';
import type { StoredBytes, StoreMethod, WorkerDriver } from './worker-messages.ts';
import type { WorkerThread } from './worker-thread.ts';

/** The store's methods, each in the thread of its tenant. */
export function createThreadStore(
  kind: WorkerDriver['kind'],
  threads: readonly WorkerThread[],
  threadOf: (tenant: string) => WorkerThread,
  close: () => Promise<void>,
): VectorStore {
  const ask = <T>(worker: WorkerThread, method: StoreMethod, ...args: unknown[]) =>
    worker.ask<T>({ kind: 'store', method, args });
  const ofTenant =
    <Method extends StoreMethod>(method: Method) =>
    (tenant: string, ...args: unknown[]): Promise<never> =>
      ask<never>(threadOf(tenant), method, tenant, ...args);
  const store: VectorStore = {
    create: (owner, ...args) => ask(threadOf(owner.tenant), 'create', owner, ...args),
    drop: ofTenant('drop'),
    list: ofTenant('list'),
    find: ofTenant('find'),
    inspect: ofTenant('inspect'),
    configure: ofTenant('configure'),
    write: ofTenant('write'),
    retrieve: ofTenant('retrieve'),
    query: ofTenant('query'),
    queryGroups: ofTenant('queryGroups'),
    neighbours: ofTenant('neighbours'),
    scroll: async (tenant, ...args) => fromTexts(await ask<TextPage>(threadOf(tenant), 'scroll', tenant, ...args)),
    count: ofTenant('count'),
    facet: ofTenant('facet'),
    indexPayload: ofTenant('indexPayload'),
    aliases: ofTenant('aliases'),
    changeAliases: ofTenant('changeAliases'),
    async tenants() {
      const lists = await Promise.all(threads.map((thread) => ask<readonly TenantSummary[]>(thread, 'tenants')));
      return mergeTenants(lists.flat());
    },
    adopt: (from: string, to: Owner) =>
      // When tenants lie together, it is a change of rows.
      kind === 'qdrant' || shardOf(from) === shardOf(to.tenant)
        ? ask(threadOf(from), 'adopt', from, to)
        : moveTenant(store, from, to),
    purge: ofTenant('purge'),
    async trouble() {
      const answers = await Promise.all(threads.map((thread) => ask<string | null>(thread, 'trouble')));
      return answers.find((answer) => answer !== null) ?? null;
    },
    close,
  };
  return store;
}

/** Threads that share one registry each name every tenant. */
function mergeTenants(tenants: readonly TenantSummary[]): TenantSummary[] {
  const known = new Map(tenants.map((one) => [`${one.tenant}\0${one.account}`, one]));
  return [...known.values()].sort((a, b) => (a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : 0));
}

/** Bytes of accounts over all threads. Derived: each thread reports its own when it starts. */
export function createThreadTotals() {
  const threads = new Map<number, Map<string, number>>();

  function add(thread: number, { account, bytes }: StoredBytes): void {
    const totals = threads.get(thread) ?? new Map<string, number>();
    threads.set(thread, totals);
    const total = (totals.get(account) ?? 0) + bytes;
    if (total === 0) totals.delete(account);
    else totals.set(account, total);
  }

  return {
    /** A thread's bytes as of now, in place of what was known of it before. */
    set(thread: number, reported: readonly StoredBytes[]): void {
      threads.delete(thread);
      for (const one of reported) add(thread, one);
    },
    add,
    of(account: string): number {
      let total = 0;
      for (const totals of threads.values()) total += totals.get(account) ?? 0;
      return Math.max(0, total);
    },
  };
}
