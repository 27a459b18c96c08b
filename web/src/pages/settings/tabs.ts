import { type Area, whyNot } from '../../api/rights.ts';
import type { Session } from '../../api/session.ts';

interface SettingsTab {
  /** In the URL. */
  value: string;
  label: string;
  /** Permission that a role needs, besides reading settings. */
  needs?: readonly [Area, 'read' | 'write'];
}

const all = [
  { value: 'config', label: 'Configuration' },
  { value: 'check', label: 'Check a file' },
  { value: 'doctor', label: 'Doctor' },
  { value: 'alerts', label: 'Alerts' },
  { value: 'operators', label: 'Operators', needs: ['operators', 'read'] },
  { value: 'sessions', label: 'Sessions', needs: ['operators', 'read'] },
  { value: 'audit', label: 'Audit log' },
  { value: 'backup', label: 'Backup', needs: ['operators', 'write'] },
] as const satisfies readonly SettingsTab[];

export type SettingsTabName = (typeof all)[number]['value'];

/** Tabs of the page Settings that this person may open. */
export function settingsTabs(session: Session): { value: SettingsTabName; label: string }[] {
  return all.filter((tab) => !('needs' in tab) || whyNot(session, tab.needs[0], tab.needs[1]) === null);
}
