import { randomBase62 } from '../../kernel/ids.ts';
import { webhookHeaders } from '../../kernel/web/webhook-headers.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import { type CrawlEvent, type CrawlWebhook, kindOf } from './crawl-options.ts';
import type { Crawl, NewHook } from './crawl-store.ts';

/** A longer page is announced without its content; the receiver can ask for it. */
const pageCharsMax = 512 * 1024;

export interface EventFacts {
  event: CrawlEvent;
  page?: ScrapedPage;
  error?: string;
}

/** The messages of an event for a crawl's webhook, in Firecrawl's form; empty when the webhook does not want it. */
export function hooksOf({ id, options }: Crawl, { event, page, error }: EventFacts, nowMs: number): NewHook[] {
  const { webhook } = options;
  if (webhook === null || !webhook.events.includes(event)) return [];
  const whole = page === undefined ? [] : [page];
  const message = (data: readonly Partial<ScrapedPage>[]) =>
    JSON.stringify({
      success: error === undefined,
      type: `${kindOf(options) === 'batch' ? 'batch_scrape' : 'crawl'}.${event}`,
      id,
      data,
      metadata: { ...webhook.metadata },
      ...(error === undefined ? {} : { error }),
    });
  let body = message(whole);
  if (body.length > pageCharsMax && page !== undefined) body = message([{ metadata: page.metadata }]);
  return [{ id: `msg_${randomBase62(24)}`, body, createdMs: nowMs }];
}

/** Signed as in Standard Webhooks. The caller's own headers come first, so they replace none of ours. */
export function signedHeaders(
  { headers, secret }: CrawlWebhook,
  message: Pick<NewHook, 'id' | 'body'>,
  nowMs: number,
): Record<string, string> {
  return { ...headers, ...webhookHeaders(message, secret, nowMs) };
}

/** For a caller who brings no secret. */
export function newWebhookSecret(): string {
  return `whsec_${Buffer.from(randomBase62(32)).toString('base64')}`;
}
