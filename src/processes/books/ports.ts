import type { Counters } from '../../books/metering/counters.ts';
import type { ExperimentBook } from '../../books/metering/experiments/experiment-book.ts';
import type { Ledger } from '../../books/metering/ledger.ts';
import type { RecordStore } from '../../books/metering/record-store.ts';
import type { StatementBook } from '../../books/metering/statement-book.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { Link } from '../../kernel/threads/link.ts';
import type { SharedPace } from '../../tools/crawl/shared-pace.ts';
import type { BooksOffers } from '../books-offers.ts';

type Answer<F> = F extends (...args: never[]) => infer R ? R : never;

/** Methods of a port that answer by a promise: these cross between processes as they are. */
type MethodOf<Port> = {
  [Name in keyof Port & string]: Extract<Answer<Port[Name]>, Promise<unknown>> extends never ? never : Name;
}[keyof Port & string];

function of<Port>() {
  return <Name extends MethodOf<Port>>(...names: Name[]): readonly Name[] => names;
}

/** Methods that workers call by port and name at the process that has the books. Others have another way, or none. */
const remotePorts = {
  counters: of<Counters>()('read', 'running'),
  ledger: of<Ledger>()(
    ...(['buckets', 'recentCalls', 'seed', 'newestBucketMs', 'openReservations', 'settled', 'find', 'list'] as const),
    ...([
      'usage',
      'traffic',
      'cacheUses',
      'promptCacheDays',
      'attempts',
      'reprice',
      'repriced',
      'prune',
      'flush',
    ] as const),
  ),
  records: of<RecordStore>()('begin', 'take', 'failed', 'failure', 'letGo', 'read', 'arrived'),
  experiments: of<ExperimentBook>()('rate', 'feedbackOf', 'results', 'states', 'begin', 'takeOut', 'takeBack'),
  statements: of<StatementBook>()('stored', 'closed', 'keep'),
  tally: of<SharedTally>()('read', 'add'),
  pace: of<SharedPace>()('take'),
};

export interface Ports extends Pick<Ledger, 'records' | 'experiments' | 'statements'> {
  counters: Counters;
  ledger: Ledger;
  tally: SharedTally;
  pace: SharedPace;
}

type RemoteOf<Port extends keyof Ports> = Pick<Ports[Port], (typeof remotePorts)[Port][number] & keyof Ports[Port]>;

/** The methods of a port that are called in the other process. */
export function remotePort<Port extends keyof Ports>(
  port: Port,
  { ask }: Pick<Link<BooksOffers>, 'ask'>,
): RemoteOf<Port> {
  const methods = remotePorts[port].map((name) => [name, (...args: unknown[]) => ask('call', port, name, args)]);
  return Object.fromEntries(methods) as RemoteOf<Port>;
}

/** The other end: calls what `remotePorts` names, and nothing else. */
export function callPorts(ports: { [Port in keyof Ports]: RemoteOf<Port> }): BooksOffers['call'] {
  const known = new Map<string, unknown>();
  for (const [port, names] of Object.entries(remotePorts)) {
    for (const name of names) known.set(`${port}.${name}`, ports[port as keyof Ports]);
  }
  return (port, name, args) => {
    const owner = known.get(`${port}.${name}`);
    const method: unknown = typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : null;
    if (typeof method !== 'function') throw new Error(`the books have no ${port}.${name}`);
    return Reflect.apply(method, owner, args);
  };
}
