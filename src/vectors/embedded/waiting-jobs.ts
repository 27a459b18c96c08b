/** A change of the file. All of it runs within one turn of the loop. */
export interface Job<T> {
  /** Whose collections it changes; null for none. */
  tenant: string | null;
  /** How much of a group it fills. */
  points: number;
  /** Inside the transaction. An error rolls back this job alone. */
  run(): T;
  /** The transaction is on the disk: the state in memory follows, in the same turn. Must not throw. */
  committed(): void;
  /** It was rolled back, alone or with its group (then in reverse order): memory goes back too. Must not throw. */
  undone(): void;
}

export interface WaitingJob {
  job: Job<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Jobs that wait for their transaction, in a line for each tenant. */
export class WaitingJobs {
  readonly #pointsMax: number;
  readonly #isHeld: (tenant: string) => boolean;
  /** By tenant, whose turn it is first. */
  readonly #lines = new Map<string | null, WaitingJob[]>();
  #count = 0;
  #holdsBack = false;

  constructor(pointsMax: number, isHeld: (tenant: string) => boolean) {
    this.#pointsMax = pointsMax;
    this.#isHeld = isHeld;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether the last group left out jobs of a tenant that was held. */
  get holdsBack(): boolean {
    return this.#holdsBack;
  }

  add(entry: WaitingJob): void {
    const { tenant } = entry.job;
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [entry]);
    else line.push(entry);
    this.#count += 1;
  }

  /** Takes one job of each tenant in turn, in its order, for one transaction; `all`: of those that are held, too. */
  takeGroup(which: 'free' | 'all'): WaitingJob[] {
    const turns = [...this.#lines.keys()].filter(
      (tenant) => which === 'all' || tenant === null || !this.#isHeld(tenant),
    );
    this.#holdsBack = turns.length < this.#lines.size;
    const group: WaitingJob[] = [];
    let points = 0;
    for (const tenant of turns) {
      const line = this.#lines.get(tenant) ?? [];
      const [first] = line;
      if (first === undefined) continue;
      points += first.job.points;
      if (group.length > 0 && points > this.#pointsMax) break;
      group.push(first);
      line.shift();
      this.#lines.delete(tenant);
      if (line.length === 0) continue;
      this.#lines.set(tenant, line);
      turns.push(tenant);
    }
    this.#count -= group.length;
    return group;
  }
}
