import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FlaskConical, History } from 'lucide-react';
import { useState } from 'react';
import type { GuardTestReply } from '../../../../src/admin/guard-tests.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Select, TextArea } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { None } from '../../parts/figures.tsx';
import { plural } from '../../parts/format.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge, type Tone } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

type Result = GuardTestReply['results'][number];

const tones: Record<Result['verdict'], Tone> = {
  pass: 'ok',
  flagged: 'warn',
  masked: 'accent',
  routed: 'accent',
  blocked: 'bad',
  unscanned: 'bad',
};

/** Tries guards on a text, and on requests that Culvert keeps; `guards` null: all of them. Nothing is sent. */
export function TryGuards({ guards }: { guards: readonly string[] | null }) {
  const may = useMay('requests', 'read');
  const [text, setText] = useState('');
  const [from, setFrom] = useState('7d');
  const run = useMutation({
    mutationFn: (what: { texts: string[] } | { answers: string[] } | { from: string }) =>
      call<GuardTestReply>('POST', '/admin/v1/guards/test', { body: { ...(guards !== null && { guards }), ...what } }),
  });
  if (!may) return null;
  return (
    <Section title="Try it">
      <Form
        error={run.error}
        onSubmit={() => run.mutate({ texts: [text] })}
        footer={
          <>
            <Select
              aria-label="Kept requests since"
              className="w-auto"
              value={from}
              onChange={({ target }) => setFrom(target.value)}
            >
              <option value="24h">Last 24 hours</option>
              <option value="7d">Last 7 days</option>
              <option value="30d">Last 30 days</option>
            </Select>
            <Button icon={<History className="size-4" />} disabled={run.isPending} onClick={() => run.mutate({ from })}>
              Try kept requests
            </Button>
            <Button disabled={run.isPending || text === ''} onClick={() => run.mutate({ answers: [text] })}>
              Try as an answer
            </Button>
            <Button
              type="submit"
              look="main"
              icon={<FlaskConical className="size-4" />}
              busy={run.isPending}
              disabled={text === ''}
            >
              Try the text
            </Button>
          </>
        }
      >
        <Field
          name="texts"
          label="Text"
          hint="What a user would send, or a model would answer. Nothing is sent or kept. Each guard is tried as if it enforced, and read both."
        >
          <TextArea
            rows={3}
            className="field-sizing-content max-h-80 min-h-20 w-full"
            placeholder="Write to anna@example.org …"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </Field>
      </Form>
      {run.data !== undefined && (
        <Tried reply={run.data} isAnswer={run.variables !== undefined && 'answers' in run.variables} />
      )}
    </Section>
  );
}

interface TriedProps {
  reply: GuardTestReply;
  /** Whether the text was tried as one of a model. */
  isAnswer: boolean;
}

function Tried({ reply: { results, kept, score, not_tried }, isAnswer }: TriedProps) {
  const [only] = results;
  return (
    <div className="mt-4 flex flex-col gap-3" aria-live="polite">
      {not_tried.length > 0 && (
        <Note tone="warn">
          Not tried, because they ask an outside service or read only answers: {not_tried.join(', ')}.
        </Note>
      )}
      {kept === null && only !== undefined ? (
        <Guards result={only} receiver={isAnswer ? 'caller' : 'model'} />
      ) : (
        <>
          <p>
            {plural(kept?.tried ?? 0, 'kept request')} of {kept?.requests ?? 0} tried.{' '}
            {Object.entries(score.verdicts)
              .map(([verdict, count]) => `${verdict}: ${count}`)
              .join(', ')}
          </p>
          {kept?.note != null && <p className="text-muted text-xs">{kept.note}</p>}
          {results.length > 0 && (
            <Table
              label="Kept requests that were tried"
              columns={columns}
              rows={results.slice(0, rowsMax)}
              keyOf={({ request_id }) => request_id ?? ''}
              empty={null}
            />
          )}
        </>
      )}
    </div>
  );
}

/** Requests that are listed; the counts are of all. */
const rowsMax = 100;

const columns: readonly Column<Result>[] = [
  {
    head: 'Request',
    cell: ({ request_id }) => (
      <Link
        to={`/dashboard/requests/${request_id}` as never}
        className="block max-w-[40cqw] truncate underline decoration-line-strong underline-offset-2"
      >
        {request_id}
      </Link>
    ),
  },
  { head: 'Verdict', cell: ({ verdict }) => <Badge tone={tones[verdict]}>{verdict}</Badge> },
  { head: 'Found', from: 'sm', cell: ({ found }) => (found.length === 0 ? <None /> : found.join(', ')) },
];

/** Findings of each guard in one text. */
function Guards({ result, receiver }: { result: Result; receiver: 'caller' | 'model' }) {
  const { verdict, guards, masked } = result;
  return (
    <>
      <p>
        Together: <Badge tone={tones[verdict]}>{verdict}</Badge>
      </p>
      <ul aria-label="Verdicts" className="flex flex-col gap-1.5">
        {guards.map(({ name, verdict: guardVerdict, findings }) => (
          <li key={name} className="flex flex-wrap items-center gap-2">
            <span className="font-medium">{name}</span>
            <Badge tone={tones[guardVerdict]}>{guardVerdict}</Badge>
            <span className="text-muted">
              {Object.entries(findings)
                .map(([kind, count]) => `${kind} × ${count}`)
                .join(', ')}
            </span>
          </li>
        ))}
      </ul>
      {masked !== null && (
        <figure className="flex flex-col gap-1.5">
          <figcaption className="text-muted text-xs">What the {receiver} would receive</figcaption>
          <pre className="whitespace-pre-wrap break-words rounded-md bg-hover p-3 text-sm">{masked}</pre>
        </figure>
      )}
    </>
  );
}
