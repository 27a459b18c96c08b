import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Alerts } from './alerts.tsx';
import { AuditLog, auditFilters } from './audit-log.tsx';
import { Backup } from './backup.tsx';
import { CheckFile } from './check-file.tsx';
import { Doctor } from './doctor.tsx';
import { InForce } from './in-force.tsx';
import { Operators } from './operators.tsx';
import { Sessions } from './sessions.tsx';
import { type SettingsTabName, settingsTabs } from './tabs.ts';

const contents: Readonly<Record<SettingsTabName, () => ReactNode>> = {
  config: () => <InForce />,
  check: () => <CheckFile />,
  doctor: () => <Doctor />,
  alerts: () => <Alerts />,
  operators: () => <Operators />,
  sessions: () => <Sessions />,
  audit: () => <AuditLog />,
  backup: () => <Backup />,
};

/** Filters of one tab do not follow to another. */
const noFilters = Object.fromEntries(['text', 'which', ...auditFilters].map((name) => [name, '']));

/** The configuration, the health of the server, who administers it and who changed what. */
export default function SettingsPage() {
  const [{ tab }, setFilters] = useFilters<string>();
  const session = useSession();
  const tabs = settingsTabs(session).map(({ value, label }) => ({ value, label, content: contents[value] }));
  // A link may name a tab of another version, or one that this person may not open.
  const { value: opened, label } = tabs.find(({ value }) => value === tab) ?? tabs[0]!;
  return (
    <Page title="Settings" opened={label}>
      <Tabs label="Settings" value={opened} onValue={(value) => setFilters({ ...noFilters, tab: value })} tabs={tabs} />
    </Page>
  );
}
