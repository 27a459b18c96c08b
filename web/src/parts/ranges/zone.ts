import { useSyncExternalStore } from 'react';
import { useFilters } from '../filters.ts';
import { keep, storedOr } from '../stored/use-stored.ts';

// The time zone in which the pages show times, and in which days, weeks and months begin.

const name = 'zone';

export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return zone !== '';
  } catch {
    return false;
  }
}

function browserZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

let chosen: string | null = null;
let shown: string | null = null;
const listeners = new Set<() => void>();

/** The operator's choice, kept in this browser; without one, the zone of the machine. */
function chosenZone(): string {
  if (chosen === null) {
    const stored = storedOr(name, '', 'browser');
    chosen = isZone(stored) ? stored : browserZone();
  }
  return chosen;
}

/** Takes effect at once, on every page. */
export function chooseZone(zone: string): void {
  chosen = zone;
  keep(name, zone, 'browser');
  for (const listener of listeners) listener();
}

/** That of the address, so that a shared link means the same days everywhere; else the operator's choice. */
export function useZone(): string {
  const [filters] = useFilters<'zone'>();
  const deviceZone = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosenZone);
  return filters.zone !== undefined && isZone(filters.zone) ? filters.zone : deviceZone;
}

/** In which `format.ts` writes times. The shell sets it before its page is drawn. */
export function showZone(zone: string): void {
  shown = zone;
}

export function shownZone(): string {
  return shown ?? chosenZone();
}
