import { useMutation } from '@tanstack/react-query';
import { Route } from 'lucide-react';
import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import type { Explained } from '../../../../src/admin/explain.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';

/** Why a request to this model would go where, right now. Nothing is sent. */
export function ExplainModel({ model: { id, type } }: { model: ModelReply }) {
  const ask = useMutation({
    mutationFn: () =>
      call<Explained>('POST', '/admin/v1/explain', {
        body:
          type === 'embedding'
            ? { endpoint: 'embeddings', body: { model: id, input: 'Hello' } }
            : { endpoint: 'chat', body: { model: id, messages: [{ role: 'user', content: 'Hello' }] } },
      }),
  });
  return (
    <Section
      title="Where a request would go"
      actions={
        <Button icon={<Route className="size-4" />} busy={ask.isPending} onClick={() => ask.mutate()}>
          Explain
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        {ask.data === undefined && ask.error === null && (
          <p className="text-muted">
            Shows the target that a request would try first right now, and why. Nothing is sent.
          </p>
        )}
        {ask.error !== null && <ErrorNote error={ask.error} />}
        {ask.data !== undefined && <Explanation explained={ask.data} />}
      </div>
    </Section>
  );
}

function Explanation({ explained: { error, unmet, candidates, attempts_max: attempts } }: { explained: Explained }) {
  if (error !== null) return <Note tone="bad">{error.message}</Note>;
  return (
    <>
      {unmet.length > 0 && <Note tone="bad">No target can do this: {unmet.join(', ')}.</Note>}
      <ol aria-label="Where a request would go" className="divide-y divide-line rounded-md border border-line">
        {candidates.map(({ target, rank, priority, verdict, sent, why }, at) => (
          <li key={`${rank} ${target}`} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2">
            <span className="w-4 text-muted">{at + 1}</span>
            <span className="min-w-0 flex-1 basis-52 [overflow-wrap:anywhere]">{target}</span>
            <Badge tone={sent === null ? 'bad' : at === 0 ? 'ok' : 'plain'}>{verdict}</Badge>
            <p className="w-full pl-7 text-muted text-xs">
              {rank > 0 ? `fallback ${rank}, ` : ''}priority {priority}
              {sent !== null && `; ${sent.answer} as ${sent.dialect}`}
              {sent?.dropped != null && `; dropped: ${sent.dropped}`}
              {why !== null && `; ${why}`}
            </p>
          </li>
        ))}
      </ol>
      <p className="text-muted text-xs">Culvert makes at most {plural(attempts, 'attempt')}.</p>
    </>
  );
}
