import { useQuery } from '@tanstack/react-query';
import type { Caller } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { Moment, None } from '../../parts/figures.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import type { CrawlErrors } from './tool-answers.ts';

interface FailedPage {
  url: string;
  error: string;
  timestamp: string | null;
}

interface CrawlErrorsTableProps {
  caller: Caller;
  path: string;
  /** How many pages there were by now, read or not. */
  seen: number;
}

/** Pages of a crawl that could not be read, and why; nothing where all could. */
export function CrawlErrorsTable({ caller, path, seen }: CrawlErrorsTableProps) {
  const { data, error, refetch } = useQuery({
    queryKey: [path, caller.key.id, 'errors', seen],
    queryFn: ({ signal }) => get<CrawlErrors>(`${path}/errors`, {}, signal, caller.headers),
    placeholderData: (before) => before,
  });
  const rows: FailedPage[] | undefined = data && [
    ...data.errors,
    ...data.robotsBlocked.map((url) => ({ url, error: "The site's robots.txt forbids it.", timestamp: null })),
  ];
  const columns: Column<FailedPage>[] = [
    { head: 'Page', className: '[overflow-wrap:anywhere]', cell: ({ url }) => url },
    { head: 'Error', className: '[overflow-wrap:anywhere]', cell: (row) => row.error },
    {
      head: 'Time',
      from: 'sm',
      align: 'right',
      cell: ({ timestamp }) => (timestamp === null ? <None /> : <Moment at={timestamp} />),
    },
  ];
  if (error === null && (rows === undefined || rows.length === 0)) return null;
  return (
    <Table
      label="Pages that could not be read"
      columns={columns}
      rows={rows}
      keyOf={({ url }) => url}
      error={error}
      retry={() => void refetch()}
      empty={null}
    />
  );
}
