import type { Principal } from '../../auth/principal.ts';
import { type Failure, statusOf } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Claim } from '../../metering/admission.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { StorageBook } from '../../metering/storage-book.ts';
import { newProgress } from '../spine/job.ts';
import { admittedBefore } from '../spine/model-call.ts';
import type { SpineServices } from '../spine/services.ts';
import { settleCall } from '../spine/settle-call.ts';

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
  const { clock, admission } = services;
  return {
    keep: ({ account }, bytes, write) => services.storage.keep(account, 'crawls', bytes, write),
    async hold({ keyId }, page) {
      const principal = principalOf(keyId);
      if ('kind' in principal) return principal;
      const full = await services.storage.mayKeep(principal.account);
      if (full !== null) return full;
      const atMs = clock.wallMs();
      const startedMs = clock.monotonicMs();
      const trace = page === null ? null : (services.traces?.begin({ atMs, startedMs, headers: null }) ?? null);
      const requestId = newRequestId(atMs);
      const { account } = principal;
      function endTrace(status: number): void {
        if (trace === null || page === null) return;
        // The query after the path may hold a secret.
        const { origin, pathname } = new URL(page);
        const about = origin + pathname;
        const facts = { requestId, method: null, route: 'crawl page', status, account, keyId, about };
        trace.end(facts, clock.monotonicMs());
      }
      const claim: Claim = {
        requestId,
        principal,
        admitted: admittedBefore,
        endpoint: 'crawl-page',
        alias: '',
        tier: null,
        costMilli: costMilliOf(services.snapshot().config.costs, 'crawl_page'),
        inputTokensEstimate: 0,
        atMs,
        trace,
      };
      const reserved = await admission.reserve(claim);
      if (reserved.kind !== 'reserved') {
        endTrace(statusOf(reserved));
        return reserved;
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
          const call = { clientRequestId: null, startedMs, tag: null };
          const client = { gone: false, committed: got };
          settleCall(services, call, claim, reserved, {
            user: null,
            stream: false,
            progress,
            client,
          });
          endTrace(progress.status);
        },
      };
    },
  };
}
