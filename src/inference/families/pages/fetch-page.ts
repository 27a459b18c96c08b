import { callerIdOf } from '../../../books/auth/principal.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import { shownPage } from '../../../tools/scrape/scrape-answer.ts';
import { readScrapeOptions, readUrl } from '../../../tools/scrape/scrape-options.ts';
import type { ScrapedPage } from '../../../tools/scrape/scraped-page.ts';
import type { ToolJob } from '../../../tools/tool-call.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import { madeOrder } from '../../spine/readable-input.ts';
import { abandoned, costMilliIn } from '../../spine/work.ts';
import { type ToolCaller, type ToolOrder, toolEndpoint } from './tool-endpoint.ts';

/** How one page is read. */
interface Reading {
  /** Asked before a redirect is followed; absent: it may be. */
  mayFollow?: (url: URL) => Promise<boolean>;
  /** Called with the page. */
  onRead?(page: ScrapedPage): void;
}

/** Reads one page. A wrong field throws a FailureError. */
export function prepareScrape(
  reader: Pick<PageReader, 'read'>,
  fields: ToolFields,
  { principal }: Pick<ToolCaller, 'principal'>,
  { mayFollow, onRead }: Reading = {},
): ToolJob {
  const url = readUrl(fields);
  const { options, warnings } = readScrapeOptions(fields);
  const { tenant } = principal;
  const keyId = callerIdOf(principal);
  return {
    charge: { tool: 'scrape', pagesMax: 0 },
    async run(signal) {
      const page = await reader.read({
        tenant,
        keyId,
        url,
        options,
        paced: false,
        signal,
        ...(mayFollow && { mayFollow }),
      });
      if (isFailure(page)) return page;
      onRead?.(page);
      return { kind: 'answer', body: { data: shownPage(page) }, warnings: [...warnings, ...page.warnings] };
    },
  };
}

/** Pages for models to read: scrapes of the owner's key, at the same cost. */
export function createPageFetch(
  services: ServeServices,
  reader: Pick<PageReader, 'read'>,
): ServerToolPorts['fetchPage'] {
  return async ({ principal, requestId, tag }, address, { cache }, mayFollow, signal) => {
    const pages: ScrapedPage[] = [];
    const request = { url: address, formats: ['markdown'], ...(cache === 'fresh' && { maxAge: 0 }) };
    const order = madeOrder<ToolOrder>('scrape', request, (fields) => ({
      prepare: (caller) =>
        prepareScrape(reader, new ToolFields(fields), caller, { mayFollow, onRead: (page) => pages.push(page) }),
      write: () => '',
    }));
    const outcome = await call(services, toolEndpoint, { principal, of: requestId, tag }, order, { signal });
    if (outcome?.kind === 'refused') return outcome.failure;
    const [page] = pages;
    if (outcome === null || page === undefined) return abandoned;
    return shown(page, costMilliIn(outcome.headers), services.clock.wallMs());
  };
}

function shown({ metadata, markdown = '', warnings }: ScrapedPage, costMilli: number, nowMs: number) {
  const { url, title, statusCode: status } = metadata;
  // A picture is paid as a page is: it was fetched.
  if (markdown === '' && warnings.length > 0) return { kind: 'unsupported' as const, message: warnings.join(' ') };
  return { url, title: title ?? '', status, text: markdown, fetchedAt: new Date(nowMs).toISOString(), costMilli };
}
