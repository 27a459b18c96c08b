import type { JsonObject } from '../../kernel/json.ts';
import type { PageMetadata, ScrapedPage } from './scraped-page.ts';

/** A page as callers get it. Missing facts are absent, not null. OpenGraph is among the rest, as in Firecrawl's. */
export function shownPage({ metadata, warnings: _, ...content }: ScrapedPage): JsonObject {
  return { ...(content as unknown as JsonObject), metadata: shown(metadata) };
}

const firecrawlNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'og:title': 'ogTitle',
    'og:description': 'ogDescription',
    'og:image': 'ogImage',
    'og:url': 'ogUrl',
    'og:site_name': 'ogSiteName',
    'og:locale': 'ogLocale',
  }),
);

function shown({ og, ...metadata }: PageMetadata): JsonObject {
  const known = Object.entries(metadata).filter(([, value]) => value !== null);
  const graph = Object.entries(og).flatMap(([name, value]) => {
    const firecrawlName = firecrawlNames.get(name);
    return [name, ...(firecrawlName === undefined ? [] : [firecrawlName])].map((one) => [one, value]);
  });
  return Object.fromEntries([...known, ...graph]) as JsonObject;
}
