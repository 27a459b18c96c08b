/** Leases of those that died before have run out. */
const knownMax = 100;

/** Boots of dead workers, for listeners that come later too. */
export function createKnownDeaths() {
  const boots = new Set<string>();
  const listeners: ((boot: string) => void)[] = [];
  return {
    /** Oldest first. */
    known: boots as ReadonlySet<string>,
    note(boot: string): void {
      if (boots.has(boot)) return;
      boots.add(boot);
      const [oldest] = boots;
      if (boots.size > knownMax && oldest !== undefined) boots.delete(oldest);
      for (const take of listeners) take(boot);
    },
    onDeath(take: (boot: string) => void): void {
      listeners.push(take);
      for (const boot of boots) take(boot);
    },
  };
}
