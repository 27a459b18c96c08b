import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Square } from 'lucide-react';
import type { Caller } from '../../api/caller.ts';
import { call, get } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago } from '../../parts/figures.tsx';
import { count, plural } from '../../parts/format.ts';
import { Back, Section } from '../../parts/page.tsx';
import { Read } from '../../parts/read.tsx';
import { CrawlErrorsTable } from './crawl-errors.tsx';
import { CrawlPagesTable } from './crawl-pages.tsx';
import { CrawlStatus } from './crawl-status.tsx';
import type { CrawlPages } from './tool-answers.ts';

const everyMs = 1_500;

/** One crawl: how far it is, its pages and what could not be read. */
export function CrawlView({ caller, id }: { caller: Caller; id: string }) {
  const path = `/v1/tools/crawl/${encodeURIComponent(id)}`;
  const client = useQueryClient();
  const query = useQuery({
    queryKey: [path, caller.key.id, 'state'],
    queryFn: ({ signal }) => get<CrawlPages>(path, { limit: 1 }, signal, caller.headers),
    refetchInterval: ({ state }) => (state.data?.status === 'scraping' ? everyMs : false),
  });
  const cancel = useMutation({
    mutationFn: () => call('DELETE', path, { headers: caller.headers }),
    onSettled: () =>
      Promise.all([query.refetch(), client.invalidateQueries({ queryKey: ['/v1/tools/crawl', caller.key.id] })]),
  });
  return (
    <>
      <div>
        <Back to="/dashboard/tools" search={{ tool: 'crawls', key: caller.key.id }} label="Crawls" />
      </div>
      <Read query={query}>
        {(data) => (
          <>
            <Section
              title={data.url}
              actions={
                <>
                  <CrawlStatus crawl={data} />
                  {data.status === 'scraping' && (
                    <Button
                      icon={<Square className="size-3.5 fill-current" aria-hidden />}
                      busy={cancel.isPending}
                      onClick={() => cancel.mutate()}
                    >
                      Cancel
                    </Button>
                  )}
                </>
              }
            >
              <div className="flex flex-col gap-3">
                <progress
                  aria-label="Pages read so far"
                  className="h-1.5 w-full appearance-none overflow-hidden rounded-full bg-line [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-accent"
                  value={data.completed + data.failed}
                  max={Math.max(1, data.total)}
                />
                <p className="text-muted text-sm [overflow-wrap:anywhere]">
                  {count(data.completed)} of {plural(data.total, 'page')} read, {count(data.failed)} failed,{' '}
                  {plural(data.creditsUsed, 'unit')}. Started <Ago at={data.createdAt} />
                  {data.expiresAt !== undefined && (
                    <>
                      ; its pages are deleted <Ago at={data.expiresAt} />
                    </>
                  )}
                  .
                  {data.collection !== null && (
                    <>
                      {' '}
                      Its pages are added to the collection{' '}
                      <Link
                        to="/dashboard/vectors"
                        search={{ collection: data.collection, key: caller.key.id } as never}
                        // The view before the crawl is out of date now.
                        onClick={() => void client.invalidateQueries({ queryKey: ['/v1/vectors/collections'] })}
                        className="text-accent underline underline-offset-2"
                      >
                        {data.collection}
                      </Link>
                      .
                    </>
                  )}
                </p>
                {data.error !== undefined && <Note tone="bad">{data.error}</Note>}
                {cancel.error !== null && <ErrorNote error={cancel.error} />}
              </div>
            </Section>
            <CrawlPagesTable caller={caller} path={path} completed={data.completed} />
            <CrawlErrorsTable caller={caller} path={path} seen={data.completed + data.failed} />
          </>
        )}
      </Read>
    </>
  );
}
