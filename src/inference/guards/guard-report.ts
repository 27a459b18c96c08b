/** Record of what one guard did to a request and its answer. */
export interface GuardReport {
  name: string;
  /** Null: it found nothing. */
  did: 'blocked' | 'masked' | 'flagged' | 'routed' | 'repaired' | 'unanswered' | null;
  count: number;
  observes: boolean;
  /** Texts of the request that it read, and parts that it could not read. */
  read: number;
  unread: number;
  /** The service that it asks about the request has not answered yet. */
  waits?: boolean;
  /** Numbers of the sentences of an answer that it found, from 1. Absent: it counts none. */
  sentences?: number[];
}

const namedMax = 20;

/** `sentences 2+5`. */
export function sentencesNamed(sentences: readonly number[], between: string): string {
  const more = sentences.length > namedMax ? [`${sentences.length - namedMax} more`] : [];
  return `sentences ${[...sentences.slice(0, namedMax), ...more].join(between)}`;
}

/** `pii=masked:3, secrets=pass; scanned=100%`. The share is that of the guard that could read least. */
export function reportOf(reports: readonly GuardReport[]): string {
  const verdicts = reports.map(({ name, did, count, observes, waits, sentences }) => {
    if (did === null) return `${name}=${waits ? 'waits' : 'pass'}`;
    if (did === 'unanswered') return `${name}=${did}:${count}`;
    const at = sentences === undefined ? '' : ` (${sentencesNamed(sentences, '+')})`;
    return `${name}=${observes ? 'would-be-' : ''}${did}:${count}${at}`;
  });
  const shares = reports.map(({ read, unread, waits }) => (waits ? 0 : unread === 0 ? 1 : read / (read + unread)));
  const scanned = Math.floor(Math.min(...shares) * 100);
  return `${verdicts.join(', ')}; ${scanned === 100 ? '' : 'unscanned; '}scanned=${scanned}%`;
}
