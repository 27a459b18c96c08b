import { whyTooManyProcesses } from '../../config/declared.ts';
import type { Config } from '../../config/schema.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const nodeMajorMin = 24;

export function nodeFinding(version: string): Finding {
  const major = Number(version.split('.')[0]);
  return major >= nodeMajorMin
    ? ok('node', `Node ${version}`)
    : problem('node', `Node ${version} is too old`, `Install Node ${nodeMajorMin} or newer.`);
}

/** None where machine and books can serve them. */
export function processesFinding(config: Config): Finding[] {
  const why = whyTooManyProcesses(config);
  if (why === null) return [];
  const fix = 'Set server.processes to a smaller number. Beyond four workers, let PostgreSQL and Redis keep the books.';
  return [warning('processes', why, fix)];
}

/** No version of Culvert is older. */
const builtMs = Date.UTC(2026, 0, 1);
const yearMs = 365 * 86_400_000;
const clockAheadMaxMs = 60_000;

/** `newestFileMs`: when something in the data folder was last written; null when there is none. */
export function clockFinding(nowMs: number, newestFileMs: number | null): Finding {
  const shown = new Date(nowMs).toISOString();
  const fix = 'Set the clock (NTP): windows, expiries and the ledger depend on it.';
  if (nowMs < builtMs || nowMs > builtMs + 50 * yearMs) return problem('clock', `The clock says ${shown}`, fix);
  if (newestFileMs !== null && newestFileMs > nowMs + clockAheadMaxMs)
    return warning('clock', `The clock says ${shown}, but the data folder was written later than that`, fix);
  return ok('clock', shown);
}

const skewMaxMs = 2_000;

/** `aheadMs`: how far a store's own clock is before ours. Null: the same clock, or nothing to say. */
export function skewFinding(store: string, aheadMs: number | null): Finding | null {
  if (aheadMs === null || Math.abs(aheadMs) <= skewMaxMs) return null;
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return warning(
    'clock',
    `${store} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`,
    'Let both follow NTP: limits are counted by the clock of the store, but callers see ours.',
  );
}
