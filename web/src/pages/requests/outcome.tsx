import { Badge, type Tone } from '../../parts/status.tsx';

export function toneOf(status: number): Tone {
  if (status >= 500) return 'bad';
  if (status === 499) return 'plain';
  return status >= 400 ? 'warn' : 'ok';
}

/** A status as the caller got it, and the failure where there was one. */
export function Outcome({ status, failure }: { status: number; failure: string }) {
  return (
    <Badge tone={toneOf(status)} title={failureText(failure)}>
      {status}
    </Badge>
  );
}

/** `upstreams-failed` → `upstreams failed`. */
export function failureText(failure: string): string {
  return failure.replaceAll(/[-_]/g, ' ');
}
