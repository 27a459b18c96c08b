import type { Counters, Full } from '../../books/metering/counters.ts';

/** An account that was refused after a second look is refused without one for so long: it is over its limit. */
const pauseMs = 50;
const accountsMax = 1_000;

/**
 * Asks a second time where a limit was full, once the books have what all workers said before. A worker says that a
 * request has ended when its answer is out, so the caller's next request may reach the books before, by another worker.
 */
export function askingTwice(counters: Counters, delivered: () => Promise<void>): Pick<Counters, 'enter' | 'hold'> {
  const refusedAtMs = new Map<string, number>();

  async function again<Answer extends { kind: string }>(
    account: string,
    ask: () => Answer | Promise<Answer>,
  ): Promise<Answer> {
    await delivered();
    const answer = await ask();
    if (answer.kind === 'full') {
      if (refusedAtMs.size >= accountsMax) refusedAtMs.clear();
      refusedAtMs.set(account, performance.now());
    }
    return answer;
  }

  function twice<Answer extends { kind: string }>(
    account: string,
    ask: () => Answer | Full | Promise<Answer | Full>,
  ): Answer | Full | Promise<Answer | Full> {
    const isFinal = (answer: Answer | Full) =>
      answer.kind !== 'full' || performance.now() - (refusedAtMs.get(account) ?? Number.NEGATIVE_INFINITY) < pauseMs;
    const first = ask();
    if (first instanceof Promise) return first.then((answer) => (isFinal(answer) ? answer : again(account, ask)));
    return isFinal(first) ? first : again(account, ask);
  }

  return {
    enter: (entry) => twice(entry.account, () => counters.enter(entry)),
    hold: (hold) => twice(hold.account, () => counters.hold(hold)),
  };
}
