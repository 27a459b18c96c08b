import { useCaller } from '../../api/caller.ts';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { AsCaller, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { CrawlView } from './crawl-view.tsx';
import { CrawlsView } from './crawls-view.tsx';
import { MapView } from './map-view.tsx';
import { ScrapeView } from './scrape-view.tsx';
import { SearchView } from './search-view.tsx';

const tools = { scrape: 'Scrape', search: 'Search', map: 'Map', crawls: 'Crawls' };

/** `/v1/tools`, called as a key. */
export default function ToolsPage() {
  const [{ tool = 'scrape', crawl }, setFilters] = useFilters<'tool' | 'crawl' | 'key'>();
  const callers = useCaller(['crawl']);
  const value = Object.hasOwn(tools, tool) ? (tool as keyof typeof tools) : 'scrape';
  return (
    <Page title="Web tools" opened={tools[value]} actions={<SpeaksAs {...callers} />}>
      <AsCaller {...callers}>
        {(caller) => (
          // One key's results are not another's.
          <Tabs
            key={caller.key.id}
            label="Tool"
            value={value}
            onValue={(value) => setFilters({ tool: value === 'scrape' ? '' : value, crawl: '' })}
            tabs={[
              { value: 'scrape', label: tools.scrape, content: () => <ScrapeView caller={caller} /> },
              { value: 'search', label: tools.search, content: () => <SearchView caller={caller} /> },
              { value: 'map', label: tools.map, content: () => <MapView caller={caller} /> },
              {
                value: 'crawls',
                label: tools.crawls,
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
      </AsCaller>
    </Page>
  );
}
