/** Others learn of a change when it is this part of the bound, so that small ones cost no message. */
const reportedPart = 1 / 64;

/**
 * Amounts that other processes of a server hold of what all callers share, as of some milliseconds ago. Nobody waits for
 * them, so each process may go beyond a bound by what it does not know yet.
 */
export interface Elsewhere {
  held(name: string): number;
  /** This process holds so much of `name` now, of `bound` that all may have. */
  report(name: string, amount: number, bound: number): void;
}

/** `send` tells the others by how much it has changed. Their own changes come to `receive`. */
export function createElsewhere(
  send: (name: string, by: number) => void,
): Elsewhere & { receive(name: string, by: number): void } {
  /** Amounts of this process that the others know. */
  const reported = new Map<string, number>();
  const others = new Map<string, number>();

  return {
    held: (name) => others.get(name) ?? 0,
    report(name, amount, bound) {
      const by = amount - (reported.get(name) ?? 0);
      if (by === 0 || (amount !== 0 && Math.abs(by) < bound * reportedPart)) return;
      addTo(reported, name, by);
      send(name, by);
    },
    receive: (name, by) => addTo(others, name, by),
  };
}

/** A name of which nothing is left is forgotten. */
export function addTo(amounts: Map<string, number>, name: string, by: number): void {
  const amount = (amounts.get(name) ?? 0) + by;
  if (amount === 0) amounts.delete(name);
  else amounts.set(name, amount);
}
