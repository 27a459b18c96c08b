import { useInfiniteQuery } from '@tanstack/react-query';
import { Globe, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count } from '../../parts/figures.tsx';
import { count } from '../../parts/format.ts';
import { type Column, Table } from '../../parts/table.tsx';
import { CrawlStatus } from './crawl-status.tsx';
import { NewCrawl } from './new-crawl.tsx';
import type { ListedCrawl } from './tool-answers.ts';

const shownAtOnce = 25;
const everyMs = 3_000;

/** Crawls of a key, newest first. */
export function CrawlsView({ caller, onOpen }: { caller: Caller; onOpen: (id: string) => void }) {
  const [making, setMaking] = useState(false);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['/v1/tools/crawl', caller.key.id],
    queryFn: async ({ pageParam: before, signal }) =>
      (await get<{ crawls: ListedCrawl[] }>('/v1/tools/crawl', { before, limit: shownAtOnce }, signal, caller.headers))
        .crawls,
    initialPageParam: '',
    getNextPageParam: (crawls) => (crawls.length < shownAtOnce ? undefined : crawls.at(-1)!.id),
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.some(({ status }) => status === 'scraping')) ? everyMs : false,
  });
  const columns: Column<ListedCrawl>[] = [
    {
      head: 'Site',
      cell: ({ id, url }) => (
        <button
          type="button"
          onClick={() => onOpen(id)}
          className="text-left font-medium underline underline-offset-2 [overflow-wrap:anywhere]"
        >
          {url}
        </button>
      ),
    },
    { head: 'State', cell: (crawl) => <CrawlStatus crawl={crawl} /> },
    { head: 'Pages', align: 'right', cell: ({ completed, total }) => `${count(completed)} of ${count(total)}` },
    { head: 'Failed', align: 'right', from: 'sm', cell: ({ failed }) => <Count value={failed} /> },
    { head: 'Units', align: 'right', from: 'sm', cell: ({ creditsUsed }) => <Count value={creditsUsed} /> },
    { head: 'Begun', align: 'right', from: 'sm', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  ];
  const rows = data?.pages.flat();
  const make = (
    <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setMaking(true)}>
      New crawl
    </Button>
  );
  return (
    <>
      {rows !== undefined && rows.length > 0 && <div className="flex justify-end">{make}</div>}
      <Table
        label="Crawls"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        error={error}
        retry={() => void refetch()}
        empty={
          <Empty icon={<Globe />} title="This key has no crawls." action={make}>
            A crawl reads the pages of a site, one after the other. They are kept for some days after its end.
          </Empty>
        }
        footer={
          hasNextPage && (
            <div className="flex justify-center border-line border-t p-2">
              <Button look="quiet" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                Older ones
              </Button>
            </div>
          )
        }
      />
      {making && <NewCrawl caller={caller} onClose={() => setMaking(false)} onBegun={onOpen} />}
    </>
  );
}
