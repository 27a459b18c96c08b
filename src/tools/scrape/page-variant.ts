import type { ScrapeOptions } from './scraped-page.ts';

/** What of the options shapes a page: only pages of one variant stand for each other in the cache. */
export function pageVariant(options: ScrapeOptions, renderer: 'none' | 'chromium'): string {
  const { onlyMainContent, includeTags, excludeTags, mobile, headers, maxBytes, waitForMs } = options;
  const parts = [
    onlyMainContent && includeTags === null ? 'main' : 'all',
    renderer,
    mobile ? 'mobile' : 'desktop',
    ...(waitForMs === 0 ? [] : [`wait ${waitForMs}`]),
    ...listed('include', includeTags),
    ...listed('exclude', excludeTags),
    ...Object.entries(headers)
      .map(([name, value]) => JSON.stringify([name, value]))
      .toSorted(),
    ...(maxBytes === null ? [] : [`max ${maxBytes}`]),
  ];
  return parts.join(' ');
}

function listed(word: string, selectors: readonly string[] | null): string[] {
  return selectors === null ? [] : [`${word} ${JSON.stringify(selectors)}`];
}
