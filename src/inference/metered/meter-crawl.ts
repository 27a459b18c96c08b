import type { Principal } from '../../auth/principal.ts';
import { type Failure, statusOf } from '../../kernel/failure.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { StorageBook } from '../../metering/storage-book.ts';
import { insideCall } from '../spine/call.ts';
import { holdCall } from '../spine/held-call.ts';
import { newProgress } from '../spine/job.ts';
import type { SpineServices } from '../spine/services.ts';

/** Must be settled, once. */
export interface CrawlPageHold {
  kind: 'held';
  /** `worked`: nothing came of it, but a thread or the browser was killed over it, so that it is paid. */
  settle(end: 'got' | 'worked' | 'nothing', failure: Failure | null): void;
}

/** What pages of crawls cost: the port that `src/tools/crawl/crawl-ports.ts` describes. */
export interface CrawlPageMeter {
  hold(owner: { keyId: string }, page: string | null): Promise<CrawlPageHold | Failure>;
  keep<T>(owner: { account: string }, bytes: number, write: () => Promise<T>): Promise<T>;
}

/** `principalOf`: as things are now, or why this key may not go on. */
export function createCrawlMeter(
  services: SpineServices & { storage: StorageBook },
  principalOf: (keyId: string) => Principal | Failure,
): CrawlPageMeter {
  const { clock } = services;
  return {
    keep: ({ account }, bytes, write) => services.storage.keep(account, 'crawls', bytes, write),
    async hold({ keyId }, page) {
      const principal = principalOf(keyId);
      if ('kind' in principal) return principal;
      const full = await services.storage.mayKeep(principal.account);
      if (full !== null) return full;
      const inside = insideCall(clock, { principal });
      const { requestId, atMs, startedMs } = inside;
      const trace = page === null ? null : (services.traces?.begin({ atMs, startedMs, headers: null }) ?? null);
      const call = { ...inside, trace };
      const { account } = principal;
      function endTrace(status: number): void {
        if (trace === null || page === null) return;
        // The query after the path may hold a secret.
        const { origin, pathname } = new URL(page);
        const about = origin + pathname;
        const facts = { requestId, method: null, route: 'crawl page', status, account, keyId, about };
        trace.end(facts, clock.monotonicMs());
      }
      const held = await holdCall(services, call, {
        endpoint: 'crawl-page',
        alias: '',
        tier: null,
        costMilli: costMilliOf(services.snapshot().config.costs, 'crawl_page'),
      });
      if (held.kind !== 'held') {
        endTrace(statusOf(held));
        return held;
      }
      return {
        kind: 'held',
        settle(end, failure) {
          const progress = newProgress();
          const got = end === 'got';
          progress.delivered = got ? 'whole' : end === 'worked' ? 'partial' : 'nothing';
          progress.status = got ? 200 : 502;
          progress.class = failure?.kind ?? 'ok';
          if (end !== 'nothing') progress.usage = { inputTokens: 0, outputTokens: 0 };
          held.settle({ user: null, stream: false, progress, client: { gone: false, committed: got } });
          endTrace(progress.status);
        },
      };
    },
  };
}
