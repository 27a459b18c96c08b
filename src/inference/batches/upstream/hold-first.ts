import type { ExpectedUse } from '../../../books/metering/batch-store.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { LineCalls, LinesHeld } from '../line-calls.ts';
import type { GatheredLine, GatheredLines } from './gather-lines.ts';

export interface HeldFirst {
  /** Held for the first `count` lines; null: not even one may be held. */
  held: LinesHeld | null;
  count: number;
  /** Why the others may not; null: there are none. */
  refused: Failure | null;
}

/** Holds as many of these lines as the account may have now, from the first on. `before`: what others will use. */
export async function holdFirst(
  calls: Pick<LineCalls, 'hold'>,
  keyId: string,
  { place, lines }: Pick<GatheredLines, 'place' | 'lines'>,
  before: ExpectedUse,
): Promise<HeldFirst> {
  const { alias, tier } = place;
  const helds: LinesHeld[] = [];
  let refused: Failure | null = null;
  let count = 0;
  // All of them, or else half of what is in question, as often as that makes sense.
  for (let more = lines.length; more > 0; ) {
    const { costMilli } = sumOf(lines.slice(count, count + more));
    // The last one may go beyond tokens and USD, which are known afterwards, as a request may.
    const { expected } = sumOf(lines.slice(0, count + more - 1));
    const answer = await calls.hold({ keyId, alias, tier, costMilli, expected: added(before, expected) });
    if (answer.kind === 'held') {
      helds.push(answer);
      count += more;
      if (refused === null) break;
    } else {
      refused = answer;
      if (answer.kind !== 'quota-exceeded') break;
    }
    more = more === 1 ? 0 : Math.ceil(more / 2);
  }
  const release = () => {
    for (const held of helds) held.release();
  };
  return { held: count === 0 ? null : { kind: 'held', release }, count, refused };
}

/** Sums the cost of these lines, and the use that is expected of them. */
export function sumOf(lines: readonly GatheredLine[]): { costMilli: number; expected: ExpectedUse } {
  let costMilli = 0;
  let expected: ExpectedUse = { tokens: 0, usdNano: 0 };
  for (const line of lines) {
    costMilli += line.costMilli;
    expected = added(expected, line.expected);
  }
  return { costMilli, expected };
}

function added(a: ExpectedUse, b: ExpectedUse): ExpectedUse {
  return { tokens: a.tokens + b.tokens, usdNano: a.usdNano + b.usdNano };
}
