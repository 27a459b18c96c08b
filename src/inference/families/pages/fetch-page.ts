import { callerIdOf } from '../../../books/auth/principal.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import { readScrapeOptions, readUrl } from '../../../tools/scrape/scrape-options.ts';
import type { ScrapedPage } from '../../../tools/scrape/scraped-page.ts';
import type { ToolJob } from '../../../tools/tool-call.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import { madeOrder } from '../../spine/readable-input.ts';
import { abandoned, costMilliIn } from '../../spine/work.ts';
import { type ToolOrder, toolEndpoint } from './tool-endpoint.ts';

/** Pages for models to read: scrapes of the owner's key, at the same cost. */
export function createPageFetch(
  services: ServeServices,
  reader: Pick<PageReader, 'read'>,
): ServerToolPorts['fetchPage'] {
  return async ({ principal, requestId, tag }, address, { cache }, mayFollow, signal) => {
    const pages: ScrapedPage[] = [];
    const prepare = (given: JsonObject): ToolJob => {
      const fields = new ToolFields(given);
      const url = readUrl(fields);
      const { options } = readScrapeOptions(fields);
      const { tenant } = principal;
      const keyId = callerIdOf(principal);
      return {
        charge: { tool: 'scrape', pagesMax: 0 },
        async run(leaving) {
          const read = await reader.read({ tenant, keyId, url, options, paced: false, mayFollow, signal: leaving });
          if (isFailure(read)) return read;
          pages.push(read);
          return { kind: 'answer', body: {}, warnings: [] };
        },
      };
    };
    const request = { url: address, formats: ['markdown'], ...(cache === 'fresh' && { maxAge: 0 }) };
    const order = madeOrder<ToolOrder>('scrape', request, (fields) => ({
      prepare: () => prepare(fields),
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
