/** What a request costs where, as measured; the model adds nothing else. */
export interface Costs {
  /** CPU of one process over SQLite, in µs. */
  aloneUs: number;
  /** CPU of a process over PostgreSQL and Redis, in µs. */
  sharedUs: number;
  /** CPU of Redis, in µs. */
  redisUs: number;
  /** CPU of PostgreSQL, in µs. */
  postgresUs: number;
}

export interface Machines {
  /** Of each machine that answers. */
  cores: number;
  replicas: number;
  /** Of PostgreSQL's machine. */
  postgresCores: number;
}

/** What ends first. */
export type End = 'processes' | 'Redis' | 'PostgreSQL';

export interface Expected {
  /** Processes that answer, on all machines. */
  workers: number;
  answersPerSecond: number;
  end: End;
}

/** What a further worker adds to the others of its machine: they share its memory and its network. */
export const growth = 0.85;

/** Redis runs scripts on one core, and nothing below uses all of one: queues grow without end before that. */
const busyMax = 0.8;

/** Answers a second with short chats, where callers never wait for a provider. */
export function expected(costs: Costs, { cores, replicas, postgresCores }: Machines): Expected {
  if (replicas === 1 && workersOf(cores) === 1)
    return { workers: 1, answersPerSecond: (busyMax * 1e6) / costs.aloneUs, end: 'processes' };
  const each = workersOf(cores);
  const ends: readonly [End, number][] = [
    ['processes', (replicas * (1 + growth * (each - 1)) * busyMax * 1e6) / costs.sharedUs],
    ['Redis', (busyMax * 1e6) / costs.redisUs],
    ['PostgreSQL', (postgresCores * busyMax * 1e6) / costs.postgresUs],
  ];
  const [end, answersPerSecond] = ends.reduce((first, next) => (next[1] < first[1] ? next : first));
  return { workers: replicas * each, answersPerSecond, end };
}

/** Cores that so many answers a second keep busy, each at most to that share. */
export function coresFor(perSecond: number, us: number): number {
  return Math.ceil((perSecond * us) / (busyMax * 1e6));
}

/** `server.processes: auto`. */
function workersOf(cores: number): number {
  return Math.max(1, cores - 2);
}
