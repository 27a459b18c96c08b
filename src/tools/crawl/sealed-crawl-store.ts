import type { Sealer } from '../../kernel/seal.ts';
import type { CrawlOptions, CrawlWebhook } from './crawl-options.ts';
import type { Crawl, CrawlStore } from './crawl-store.ts';

/** The name of the sealed member: data that a copy of the database must not show. */
const sealedName = 'sealed';

type Headers = Readonly<Record<string, string>>;

/**
 * The same store, whose rows keep the callers' secrets (headers for pages and webhooks, the webhook's secret) sealed.
 * When another `storage.secret` sealed a row, these are gone: pages are read without them, and no webhook is sent.
 */
export function sealedCrawlStore(store: CrawlStore, sealer: Sealer): CrawlStore {
  const seal = (text: string, context: string) => sealer.seal(Buffer.from(text), context).toString('base64');
  const open = (sealed: string, context: string) =>
    sealer.open(Buffer.from(sealed, 'base64'), context)?.toString() ?? null;

  const sealHeaders = (headers: Headers, context: string): Headers =>
    Object.keys(headers).length === 0 ? headers : { [sealedName]: seal(JSON.stringify(headers), context) };

  function openHeaders(headers: Headers, context: string): Headers {
    const sealed = headers[sealedName];
    const text = sealed === undefined ? null : open(sealed, context);
    return text === null ? {} : (JSON.parse(text) as Headers);
  }

  const sealWebhook = (webhook: CrawlWebhook, id: string): CrawlWebhook => ({
    ...webhook,
    secret: seal(webhook.secret, `${id} secret`),
    headers: sealHeaders(webhook.headers, `${id} webhook`),
  });

  function openWebhook(webhook: CrawlWebhook | null, id: string): CrawlWebhook | null {
    const secret = webhook === null ? null : open(webhook.secret, `${id} secret`);
    if (webhook === null || secret === null) return null;
    return { ...webhook, secret, headers: openHeaders(webhook.headers, `${id} webhook`) };
  }

  const sealed = (options: CrawlOptions, id: string): CrawlOptions => ({
    ...options,
    scrape: { ...options.scrape, headers: sealHeaders(options.scrape.headers, `${id} pages`) },
    webhook: options.webhook === null ? null : sealWebhook(options.webhook, id),
  });

  const opened = (crawl: Crawl): Crawl => ({
    ...crawl,
    options: {
      ...crawl.options,
      scrape: { ...crawl.options.scrape, headers: openHeaders(crawl.options.scrape.headers, `${crawl.id} pages`) },
      webhook: openWebhook(crawl.options.webhook, crawl.id),
    },
  });
  const openedOrNull = (crawl: Crawl | null) => (crawl === null ? null : opened(crawl));

  return {
    ...store,
    create: (crawl, seeds, bounds) =>
      store.create({ ...crawl, options: sealed(crawl.options, crawl.id) }, seeds, bounds),
    find: async (...args) => openedOrNull(await store.find(...args)),
    list: async (...args) => (await store.list(...args)).map(opened),
    cancel: async (...args) => openedOrNull(await store.cancel(...args)),
    lease: async (...args) => (await store.lease(...args)).map(opened),
    dueHooks: async (...args) =>
      (await store.dueHooks(...args)).map((hook) => ({ ...hook, webhook: openWebhook(hook.webhook, hook.crawl) })),
  };
}
