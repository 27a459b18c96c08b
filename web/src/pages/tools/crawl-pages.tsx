import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { None } from '../../parts/figures.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { PageContent } from './page-content.tsx';
import type { CrawlPages, ScrapedPage } from './tool-answers.ts';

/** They come with their content. */
const shownAtOnce = 20;

interface CrawlPagesTableProps {
  caller: Caller;
  path: string;
  /** How many there are by now. */
  completed: number;
}

/** The pages of a crawl, in the order in which they were read. */
export function CrawlPagesTable({ caller, path, completed }: CrawlPagesTableProps) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [opened, setOpened] = useState<ScrapedPage | null>(null);
  // A page of the list that is full, and has one after it, stays as it is.
  const known = Math.min(completed, (cursors.length + 1) * shownAtOnce + 1);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [path, caller.key.id, 'pages', cursors.at(-1) ?? '', known],
    queryFn: ({ signal }) =>
      get<CrawlPages>(path, { cursor: cursors.at(-1), limit: shownAtOnce }, signal, caller.headers),
    placeholderData: keepPreviousData,
    // While a crawl runs there is a new one with each page.
    gcTime: 0,
  });
  const next = data?.next == null ? null : new URL(data.next, location.origin).searchParams.get('cursor');
  const columns: Column<ScrapedPage>[] = [
    {
      head: 'Page',
      cell: (page) => (
        <button
          type="button"
          onClick={() => setOpened(page)}
          className="flex min-w-0 flex-col text-left [overflow-wrap:anywhere]"
        >
          <span className="font-medium underline underline-offset-2">{titleOf(page)}</span>
          <span className="text-muted text-xs">{page.metadata.url}</span>
        </button>
      ),
    },
    { head: 'Status', align: 'right', cell: ({ metadata }) => metadata.statusCode ?? <None /> },
  ];
  return (
    <>
      <PagedTable
        label="Pages"
        columns={columns}
        keyOf={({ metadata }) => String(metadata.sourceURL ?? metadata.url)}
        pages={{
          rows: data?.data.slice(),
          error,
          waiting: false,
          refetch: () => void refetch(),
          page: cursors.length + 1,
          next: next === null || isPlaceholderData ? null : () => setCursors([...cursors, next]),
          previous: cursors.length === 0 ? null : () => setCursors(cursors.slice(0, -1)),
        }}
        empty={<Empty title="No page was read yet." />}
      />
      <Dialog
        open={opened !== null}
        onClose={() => setOpened(null)}
        title={opened === null ? '' : titleOf(opened)}
        place="side"
      >
        {opened !== null && <PageContent page={opened} warning={opened.warning} />}
      </Dialog>
    </>
  );
}

function titleOf({ metadata }: ScrapedPage): string {
  return metadata.title || metadata.url || 'Untitled';
}
