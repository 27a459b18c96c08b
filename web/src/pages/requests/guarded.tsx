import { Link } from '@tanstack/react-router';
import { Section } from '../../parts/page.tsx';
import { Badge, type Tone } from '../../parts/status.tsx';

interface Verdict {
  guard: string;
  /** `pass`, `masked:3`, `would-be-blocked:1` … */
  verdict: string;
}

/** Results of guards for a request, of `route.steps` of its record. */
export function Guarded({ steps }: { steps: readonly string[] | undefined }) {
  const at = steps?.indexOf('x-culvert-guard') ?? -1;
  const report = at === -1 ? undefined : steps?.[at + 1];
  if (report === undefined) return null;
  const [verdicts = '', ...rest] = report.split('; ');
  return (
    <Section title="Guards">
      <ul aria-label="Guards" className="flex flex-col gap-1.5">
        {verdicts.split(', ').map((text) => {
          const { guard, verdict } = verdictIn(text);
          return (
            <li key={guard} className="flex items-center gap-2">
              <Link
                to={`/dashboard/guards/${encodeURIComponent(guard)}` as never}
                className="min-w-0 flex-1 truncate underline decoration-line-strong underline-offset-2 hover:decoration-current"
              >
                {guard}
              </Link>
              <Badge tone={toneOf(verdict)}>{verdict.replace(':', ' × ')}</Badge>
            </li>
          );
        })}
      </ul>
      <p className="mt-2 text-muted text-xs">{rest.map(sentence).join(' ')}</p>
    </Section>
  );
}

function verdictIn(text: string): Verdict {
  const [guard = '', verdict = ''] = text.split('=');
  return { guard, verdict };
}

function toneOf(verdict: string): Tone {
  if (/^pass/.test(verdict)) return 'ok';
  if (/^(blocked|denied|failed)/.test(verdict)) return 'bad';
  return /^masked/.test(verdict) ? 'accent' : 'warn';
}

function sentence(part: string): string {
  if (part === 'unscanned') return 'A part could not be read.';
  return part.startsWith('scanned=') ? `They read ${part.slice('scanned='.length)} of the texts.` : `${part}.`;
}
