import type { Replicas } from '../books/metering/replicas.ts';
import type { Clock } from '../kernel/clock.ts';
import { serverOf } from './boot-names.ts';

interface UnopenedParts {
  options: { seat?: { given: { boot: string } } };
  /** `replicas` is null where no other server shares the books. */
  books: { stores: { bootId: string; replicas: Pick<Replicas, 'seen'> | null } };
  services: { clock: Pick<Clock, 'monotonicMs'> };
  /** How many stored providers, models and others this process cannot open. */
  setup: { report(): { unopened: number } };
}

/** Between two looks at the others; each says every 5 s how it is. */
const lookEveryMs = 2_500;

/**
 * Asked as often as anybody likes: why this process is to get no requests, since another secret than its own sealed stored
 * entries that other replicas can open; null: it can open all, or no other replica serves that can. Unknown counts as a
 * reason, and others are looked at only while something cannot be opened.
 */
export function watchUnopened({
  options: { seat },
  books: { stores },
  services: { clock },
  setup,
}: UnopenedParts): () => { configuration: string | null } {
  const { replicas, bootId } = stores;
  const replica = serverOf(seat?.given.boot ?? bootId);
  let known: { trouble: boolean; atMs: number } | null = null;
  let looking = false;

  async function look(of: Pick<Replicas, 'seen'>): Promise<void> {
    looking = true;
    // A database that cannot be asked says nothing new, and keeps this process from being ready anyway.
    const seen = await of.seen().catch(() => null);
    const trouble =
      seen === null
        ? (known?.trouble ?? true)
        : seen.some(({ facts, over }) => {
            if (over || facts === null || facts.replica === replica) return false;
            return facts.state === 'serving' && facts.unopened === 0;
          });
    known = { trouble, atMs: clock.monotonicMs() };
    looking = false;
  }

  function why(): string | null {
    const { unopened } = setup.report();
    if (unopened === 0 || replicas === null) {
      known = null;
      return null;
    }
    if (!looking && (known === null || clock.monotonicMs() - known.atMs >= lookEveryMs)) void look(replicas);
    if (known?.trouble === false) return null;
    const what = unopened === 1 ? 'entry cannot be opened here: another' : 'entries cannot be opened here: another';
    return `${unopened} stored ${what} storage.secret sealed ${unopened === 1 ? 'it' : 'them'}. Give this replica the secret of the others, or name theirs in storage.earlier_secrets.`;
  }

  return () => ({ configuration: why() });
}
