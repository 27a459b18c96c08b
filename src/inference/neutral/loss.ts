/** One thing a conversion left out or changed. `field` is its path in the caller's own dialect, such as `seed`. */
export interface Loss {
  field: string;
  why: 'unknown' | 'unsupported' | 'clamped' | 'narrowed';
}

/** Parts of an answer that the caller's format has no place for, as its encoder names them. */
export function lossesOf(parts: ReadonlySet<string> | undefined): Loss[] {
  return [...(parts ?? [])].map((field) => ({ field, why: 'unsupported' }));
}

/** Tells losses within a stream of events: a comment, which every reader skips. */
export function lossComment(losses: readonly Loss[]): string {
  return `: ${lossHeaderName}: ${lossHeader(losses)}\n\n`;
}

export const lossHeaderName = 'x-culvert-dropped';

/** `x-culvert-dropped`'s value; '' when nothing was lost. Names come from callers: only safe characters pass. */
export function lossHeader(losses: readonly Loss[]): string {
  const names = new Set(losses.map((loss) => loss.field.replace(/[^\w.[\]-]/g, '_').slice(0, 64)));
  return [...names].slice(0, 32).join(', ');
}
