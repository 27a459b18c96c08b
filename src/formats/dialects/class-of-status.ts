import type { FaultClass } from '../neutral/outcome.ts';

const byStatus: ReadonlyMap<number, FaultClass> = new Map<number, FaultClass>([
  [401, 'bad_credential'],
  [402, 'quota_exhausted'],
  [403, 'bad_credential'],
  [404, 'model_unavailable'],
  // A path or a method that is not there is the target's fault, not the caller's.
  [405, 'model_unavailable'],
  // A forward proxy on the way wants another login.
  [407, 'transient'],
  [408, 'transient'],
  [410, 'model_unavailable'],
  [425, 'transient'],
  [429, 'rate_limited'],
  [451, 'region_blocked'],
  [499, 'transient'],
]);

/** Class of an error whose format has no rule for it. 200: it is inside a successful answer. */
export function classOfStatus(status: number): FaultClass {
  const known = byStatus.get(status);
  if (known !== undefined) return known;
  if (status >= 500 || (status >= 300 && status < 400)) return 'transient';
  return status >= 400 ? 'caller_fault' : 'malformed';
}
