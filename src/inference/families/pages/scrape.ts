import { callerIdOf } from '../../../books/auth/principal.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import { shownPage } from '../../../tools/scrape/scrape-answer.ts';
import { readScrapeOptions, readUrl } from '../../../tools/scrape/scrape-options.ts';
import type { ToolJob } from '../../../tools/tool-call.ts';
import type { ToolFields } from '../../../tools/tool-fields.ts';
import type { ToolCaller } from './tool-endpoint.ts';

/** Reads one page. A wrong field throws a FailureError. */
export function prepareScrape(
  reader: Pick<PageReader, 'read'>,
  fields: ToolFields,
  { principal }: ToolCaller,
): ToolJob {
  const url = readUrl(fields);
  const { options, warnings } = readScrapeOptions(fields);
  const { tenant } = principal;
  const keyId = callerIdOf(principal);
  return {
    charge: { tool: 'scrape', pagesMax: 0 },
    async run(signal) {
      const page = await reader.read({ tenant, keyId, url, options, paced: false, signal });
      if (isFailure(page)) return page;
      return { kind: 'answer', body: { data: shownPage(page) }, warnings: [...warnings, ...page.warnings] };
    },
  };
}
