import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { usePagesOf } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { None } from '../../parts/figures.tsx';
import { Badge } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
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
  const [opened, setOpened] = useState<ScrapedPage | null>(null);
  const pages = usePagesOf(
    [path, caller.key.id, 'pages'],
    async (cursor: string | undefined, signal) => {
      const { data, next } = await get<CrawlPages>(path, { cursor, limit: shownAtOnce }, signal, caller.headers);
      return { data, next_cursor: next && new URL(next, location.origin).searchParams.get('cursor') };
    },
    // A full page of the list that has a page after it stays as it is.
    { revisionOf: (page) => Math.min(completed, page * shownAtOnce + 1) },
  );
  const columns: Column<ScrapedPage>[] = [
    {
      head: 'Page',
      value: (page) => page.metadata.url ?? titleOf(page),
      cell: (page) => (
        <button
          type="button"
          onClick={() => setOpened(page)}
          className="flex min-w-0 flex-col text-left [overflow-wrap:anywhere]"
        >
          <span className="font-medium underline underline-offset-2">{titleOf(page)}</span>
          {titleOf(page) !== page.metadata.url && <span className="text-muted text-xs">{page.metadata.url}</span>}
        </button>
      ),
    },
    {
      head: 'Status',
      align: 'right',
      value: ({ metadata }) => metadata.statusCode ?? null,
      cell: ({ metadata }) => <PageStatus status={metadata.statusCode} />,
    },
  ];
  return (
    <>
      <PagedTable
        label="Pages"
        columns={columns}
        keyOf={({ metadata }) => String(metadata.sourceURL ?? metadata.url)}
        pages={pages}
        empty={<Empty title="No pages have been read yet." />}
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

function PageStatus({ status }: { status: number | undefined }) {
  return status === undefined ? <None /> : <Badge tone={status < 400 ? 'plain' : 'warn'}>{status}</Badge>;
}

function titleOf({ metadata }: ScrapedPage): string {
  return metadata.title || metadata.url || 'Untitled';
}
