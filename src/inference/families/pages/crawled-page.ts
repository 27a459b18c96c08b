import type { Principal } from '../../../books/auth/principal.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import type { StorageBook } from '../../../books/metering/storage/storage-book.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { CrawlMeter, PageEnd } from '../../../tools/crawl/crawl-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import type { ReadRequest, WorkEndpoint } from '../../spine/work.ts';

export type CrawlServices = ServeServices & { storage: StorageBook };

interface CrawledPage extends ReadRequest {
  work(): Promise<PageEnd>;
}

/** Pages of crawls, each a call of the key that began the crawl. `principalOf`: as things are now, or why it may not go on. */
export function createCrawlMeter(
  services: CrawlServices,
  principalOf: (keyId: string) => Principal | Failure,
): CrawlMeter {
  const endpoint = crawledPageEndpoint(services.storage);

  return {
    keep: ({ account }, bytes, write) =>
      services.storage.keep(account, 'crawls', bytes, write, (storedBytes) => storedBytes ?? 0),
    async page({ keyId }, url, work) {
      const principal = principalOf(keyId);
      if (isFailure(principal)) return principal;
      let began = false;
      const order = {
        work() {
          began = true;
          return work();
        },
      };
      const outcome = await call(services, endpoint, { principal }, order, { traced: tracedAs(url) });
      return !began && outcome?.kind === 'refused' ? outcome.failure : null;
    },
    async mayPay({ keyId }) {
      const principal = principalOf(keyId);
      if (isFailure(principal)) return principal;
      const order = { work: async () => nothing };
      const outcome = await call(services, endpoint, { principal }, order, {});
      return outcome?.kind === 'refused' ? outcome.failure : null;
    },
  };
}

const nothing: PageEnd = { end: 'nothing', failure: null };

function crawledPageEndpoint(storage: StorageBook): WorkEndpoint<Pick<CrawledPage, 'work'>, CrawledPage> {
  return {
    id: 'crawl-page',
    read: (_call, { work }) => ({ work, release() {} }),
    async plan({ config }, { principal }) {
      const full = await storage.mayKeep(principal.account);
      if (full !== null) return full;
      const costMilli = costMilliOf(config.costs, 'crawl_page');
      return { charge: { endpoint: 'crawl-page', alias: '', tier: null, costMilli } };
    },
    async work({ request }) {
      const ended = await request.work();
      if (ended === nothing) return { body: null, failure: null, checked: true };
      const { end, failure } = ended;
      if (end === 'got') return { body: '', failure: null };
      return { body: null, failure, status: 502, worked: end === 'worked' };
    },
  };
}

function tracedAs(url: string) {
  // The query after the path may hold a secret.
  const { origin, pathname } = new URL(url);
  return { route: 'crawl page', about: origin + pathname };
}
