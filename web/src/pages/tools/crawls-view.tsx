import { Link } from '@tanstack/react-router';
import { Globe, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { usePagesOf } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count } from '../../parts/figures.tsx';
import { count } from '../../parts/format.ts';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { CrawlStatus } from './crawl-status.tsx';
import { NewCrawl } from './new-crawl.tsx';
import type { ListedCrawl } from './tool-answers.ts';

const shownAtOnce = 25;
const everyMs = 3_000;

/** Crawls of a key, newest first. */
export function CrawlsView({ caller, onBegun }: { caller: Caller; onBegun: (id: string) => void }) {
  const [making, setMaking] = useState(false);
  const pages = usePagesOf(
    ['/v1/tools/crawl', caller.key.id],
    async (before: string | undefined, signal) => {
      // One more says whether there are older ones.
      const query = { before, limit: shownAtOnce + 1 };
      const { crawls } = await get<{ crawls: ListedCrawl[] }>('/v1/tools/crawl', query, signal, caller.headers);
      const data = crawls.slice(0, shownAtOnce);
      return { data, next_cursor: crawls.length > data.length ? data.at(-1)!.id : null };
    },
    { everyMs: (rows) => (rows?.some(({ status }) => status === 'scraping') ? everyMs : false), inUrl: true },
  );
  const columns: Column<ListedCrawl>[] = [
    {
      head: 'Site',
      className: '[overflow-wrap:anywhere]',
      cell: ({ id, url }) => (
        <Link
          to="/dashboard/tools"
          search={{ tool: 'crawls', crawl: id, key: caller.key.id } as never}
          className="font-medium underline underline-offset-2"
        >
          {url}
        </Link>
      ),
    },
    { head: 'State', value: ({ status }) => status, cell: (crawl) => <CrawlStatus crawl={crawl} /> },
    {
      head: 'Pages',
      align: 'right',
      value: ({ completed }) => completed,
      cell: ({ completed, total }) => `${count(completed)} of ${count(total)}`,
    },
    { head: 'Failed', align: 'right', from: 'sm', cell: ({ failed }) => <Count value={failed} /> },
    { head: 'Units', align: 'right', from: 'sm', cell: ({ creditsUsed }) => <Count value={creditsUsed} /> },
    { head: 'Started', align: 'right', from: 'sm', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  ];
  const make = (
    <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setMaking(true)}>
      New crawl
    </Button>
  );
  return (
    <>
      {pages.rows !== undefined && pages.rows.length > 0 && <div className="flex justify-end">{make}</div>}
      <PagedTable
        label="Crawls"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<Globe />} title="This key has no crawls." action={make}>
            A crawl reads the pages of a site, one after the other. Culvert keeps them for some days.
          </Empty>
        }
      />
      {making && <NewCrawl caller={caller} onClose={() => setMaking(false)} onBegun={onBegun} />}
    </>
  );
}
