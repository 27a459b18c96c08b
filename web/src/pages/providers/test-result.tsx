import { plural, span } from '../../parts/format.ts';
import { Status, type Tone } from '../../parts/status.tsx';

/** The answer of `/admin/v1/providers/{name}/test`. */
export interface TestReply {
  ok: boolean;
  data: {
    credential: string;
    verdict: 'ok' | 'not listed' | 'bad credential' | 'unreachable' | 'failed';
    message: string;
    models: number;
    ms: number;
  }[];
}

const tones: Record<TestReply['data'][number]['verdict'], Tone> = {
  ok: 'ok',
  'not listed': 'warn',
  'bad credential': 'bad',
  unreachable: 'bad',
  failed: 'bad',
};

/** A provider's answer just now, by credential. `isStored`: its credentials are changed on its page. */
export function TestResult({ result, isStored }: { result: TestReply; isStored: boolean }) {
  return (
    <ul aria-label="Test result" className="divide-y divide-line rounded-md border border-line">
      {result.data.map(({ credential, verdict, message, models, ms }) => (
        <li key={credential} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2">
          <Status tone={tones[verdict]}>{verdict}</Status>
          <span className="text-muted">{credential}</span>
          <span className="ml-auto text-muted">
            {verdict === 'ok' && `${plural(models, 'model')} in `}
            {span(ms)}
          </span>
          {message !== '' && <p className="w-full [overflow-wrap:anywhere]">{message}</p>}
          {verdict === 'bad credential' && isStored && (
            <p className="w-full text-muted">Add another credential below, and remove this one.</p>
          )}
        </li>
      ))}
    </ul>
  );
}
