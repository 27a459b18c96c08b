import type { RequestReply } from '../../../../src/admin/request-schema.ts';
import { classes } from '../../parts/classes.ts';
import { Money } from '../../parts/figures.tsx';
import { bytes, span } from '../../parts/format.ts';
import { Badge } from '../../parts/status.tsx';
import { failureText, toneOf } from './outcome.tsx';

type Attempt = RequestReply['route']['attempts'][number];

/**
 * The attempts on one scale of time: when each began, how it ended and how long it took. Then the targets that were
 * only considered. Records of earlier versions do not say when an attempt began: theirs begin at the left.
 */
export function Timeline({ request: { route, ms, status, class: failure, cache } }: { request: RequestReply }) {
  const { verdicts = [] } = route;
  const attempts = route.attempts.toSorted((one, other) => (one.startMs ?? 0) - (other.startMs ?? 0));
  const tried = new Set(attempts.map(({ target }) => target));
  const considered = verdicts.filter(({ target }) => !tried.has(target));
  const wholeMs = Math.max(ms, 1, ...attempts.map((attempt) => (attempt.startMs ?? 0) + attempt.ms));
  return (
    <div className="flex flex-col gap-4">
      {attempts.length === 0 ? (
        <p className="text-muted">
          No provider was tried: {failure === 'ok' && cache !== null ? 'the cache answered' : failureText(failure)} (
          {status}).
        </p>
      ) : (
        <ol className="flex flex-col">
          {attempts.map((attempt, at) => (
            <AttemptLine
              // biome-ignore lint/suspicious/noArrayIndexKey: the order is what tells attempts apart.
              key={at}
              attempt={attempt}
              last={at === attempts.length - 1}
              wholeMs={wholeMs}
              verdict={verdicts.find(({ target }) => target === attempt.target)?.verdict}
            />
          ))}
        </ol>
      )}
      {considered.length > 0 && (
        <div>
          <h3 className="mb-1 font-medium text-muted text-xs">Considered, but not tried</h3>
          <ul className="divide-y divide-line rounded-md border border-line">
            {considered.map(({ target, verdict }) => (
              <li key={target} className="flex flex-wrap justify-between gap-x-4 px-3 py-1.5">
                <span className="[overflow-wrap:anywhere]">{target}</span>
                <span className="text-muted">{verdictText(verdict)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {route.passThrough === true && (
        <p className="text-muted text-xs">Culvert passed the bytes of the provider through unchanged.</p>
      )}
    </div>
  );
}

/** Verdicts of the record whose words a reader cannot know. */
const verdictWords: Readonly<Record<string, string>> = {
  'picked as the least bad': 'picked, although no target was healthy',
  'picked as a probe': 'picked to find out whether it is healthy again',
  'picked as a hedge': 'picked because the previous target was slow',
};

function verdictText(verdict: string): string {
  return verdictWords[verdict] ?? verdict;
}

interface AttemptLineProps {
  attempt: Attempt;
  last: boolean;
  wholeMs: number;
  verdict: string | undefined;
}

function AttemptLine({ attempt, last, wholeMs, verdict }: AttemptLineProps) {
  const { target, credential, class: outcome, status, startMs, ms, firstTokenMs, message, costUsd } = attempt;
  const well = outcome === 'ok';
  // An attempt that another one outran failed nobody.
  const tone = well
    ? 'ok'
    : outcome === 'cancelled'
      ? 'plain'
      : status === null
        ? 'bad'
        : toneOf(Math.max(status, 400));
  const share = (part: number) => `${Math.min(100, (part / wholeMs) * 100)}%`;
  return (
    <li className="flex gap-3">
      <div className="flex flex-col items-center pt-1.5" aria-hidden>
        <span className={classes('size-2.5 rounded-full', well ? 'bg-ok' : tone === 'plain' ? 'bg-faint' : 'bg-bad')} />
        {!last && <span className="mt-1 w-px flex-1 bg-line-strong" />}
      </div>
      <div className={classes('min-w-0 flex-1', !last && 'pb-4')}>
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium [overflow-wrap:anywhere]">{target}</span>
          <Badge tone={tone}>
            {status ?? 'no response'} {!well && failureText(outcome)}
          </Badge>
          <span className="ml-auto whitespace-nowrap">{span(ms)}</span>
        </div>
        <div className="mt-1.5 flex h-1.5 overflow-hidden rounded-full bg-line" aria-hidden>
          <div
            className={classes(
              'h-full min-w-0.5',
              well ? 'bg-accent/45' : tone === 'plain' ? 'bg-faint/60' : 'bg-bad/60',
            )}
            style={{ marginLeft: `min(${share(startMs ?? 0)}, 100% - 2px)`, width: share(firstTokenMs ?? ms) }}
          />
          {firstTokenMs !== null && <div className="h-full bg-accent" style={{ width: share(ms - firstTokenMs) }} />}
        </div>
        <p className="mt-1 flex flex-wrap gap-x-3 text-muted text-xs">
          {verdict !== undefined && <span>{verdictText(verdict)}</span>}
          {startMs != null && <span>started after {span(startMs)}</span>}
          <span>credential {credential}</span>
          {firstTokenMs !== null && <span>first token after {span(firstTokenMs)}</span>}
          <span>{bytes(attempt.bytes)}</span>
          {costUsd !== null && <Money value={costUsd} />}
        </p>
        {message !== null && (
          <p className={classes('mt-1 text-xs [overflow-wrap:anywhere]', tone === 'plain' ? 'text-muted' : 'text-bad')}>
            {message}
          </p>
        )}
      </div>
    </li>
  );
}
