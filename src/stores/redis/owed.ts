import { every } from '../../kernel/every.ts';
import type { OperationName, OperationPlan, Turns } from './operation-turns.ts';

const retryEveryMs = 500;

/** Operations that wait until Redis can be asked; of further ones the oldest are forgotten. */
const owedMax = 10_000;

/** Operations of one name that give something back. Nobody waits for them. */
export type Owed = ReturnType<typeof createOwed>;

/** `again`: the answers after which an operation is sent again. */
export function createOwed(
  link: { ask: Turns['ask']; ready(): boolean },
  name: OperationName,
  again: readonly ('unsent' | 'unknown')[],
) {
  let owed: { plan: OperationPlan; values: readonly string[] }[] = [];
  const close = every(retryEveryMs, () => {
    if (owed.length > 0 && link.ready()) retry();
  });

  function send(plan: OperationPlan, values: readonly string[]): void {
    void link.ask(name, plan, values).then(({ answer }) => {
      if (typeof answer !== 'string' || !again.includes(answer)) return;
      owed.push({ plan, values });
      if (owed.length > owedMax) owed.shift();
    });
  }

  function retry(): void {
    const some = owed;
    owed = [];
    for (const { plan, values } of some) send(plan, values);
  }

  return {
    /** Sends one at once, or as soon as Redis can be asked again. */
    send,
    /** Sends all that waits. */
    retry,
    /** Drops all that waits. */
    forget(): void {
      owed = [];
    },
    close,
  };
}
