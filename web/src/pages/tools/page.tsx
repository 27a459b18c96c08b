import { useCaller } from '../../api/caller.ts';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { NoKey, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { CrawlView } from './crawl-view.tsx';
import { CrawlsView } from './crawls-view.tsx';
import { MapView } from './map-view.tsx';
import { ScrapeView } from './scrape-view.tsx';
import { SearchView } from './search-view.tsx';

const tools = ['scrape', 'search', 'map', 'crawls'];

/** `/v1/tools`, called as a key. */
export default function ToolsPage() {
  const [{ tool = 'scrape', crawl }, setFilters] = useFilters<'tool' | 'crawl' | 'key'>();
  const callers = useCaller(['crawl']);
  const { caller } = callers;
  return (
    <Page title="Web tools" actions={<SpeaksAs {...callers} />}>
      {callers.error !== null && <ErrorNote error={callers.error} />}
      {caller === undefined && callers.error === null && <SkeletonRows />}
      {caller === null && <NoKey />}
      {caller != null && (
        // One key's results are not another's.
        <Tabs
          key={caller.key.id}
          label="Tool"
          value={tools.includes(tool) ? tool : 'scrape'}
          onValue={(value) => setFilters({ tool: value === 'scrape' ? '' : value, crawl: '' })}
          tabs={[
            { value: 'scrape', label: 'Scrape', content: () => <ScrapeView caller={caller} /> },
            { value: 'search', label: 'Search', content: () => <SearchView caller={caller} /> },
            { value: 'map', label: 'Map', content: () => <MapView caller={caller} /> },
            {
              value: 'crawls',
              label: 'Crawls',
              content: () =>
                crawl === undefined ? (
                  <CrawlsView caller={caller} onBegun={(id) => setFilters({ crawl: id, key: caller.key.id })} />
                ) : (
                  <CrawlView key={crawl} caller={caller} id={crawl} />
                ),
            },
          ]}
        />
      )}
    </Page>
  );
}
