import { useMay } from '../../api/rights.ts';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { AuditLog } from './audit-log.tsx';
import { Backup } from './backup.tsx';
import { CheckFile } from './check-file.tsx';
import { Doctor } from './doctor.tsx';
import { InForce } from './in-force.tsx';
import { Operators } from './operators.tsx';
import { Sessions } from './sessions.tsx';

/** The configuration, the health of the server, who administers it and who changed what. */
export default function SettingsPage() {
  const [{ tab = 'config' }, setFilters] = useFilters<'tab' | 'text'>();
  const seesOperators = useMay('operators', 'read');
  const mayBackUp = useMay('operators', 'write');
  const tabs = [
    { value: 'config', label: 'Configuration', content: () => <InForce /> },
    { value: 'check', label: 'Check a file', content: () => <CheckFile /> },
    { value: 'doctor', label: 'Doctor', content: () => <Doctor /> },
    { value: 'operators', label: 'Operators', content: () => <Operators /> },
    { value: 'sessions', label: 'Sessions', content: () => <Sessions /> },
    { value: 'audit', label: 'Audit log', content: () => <AuditLog /> },
    { value: 'backup', label: 'Backup', content: () => <Backup /> },
  ]
    .filter(({ value }) => seesOperators || (value !== 'operators' && value !== 'sessions'))
    .filter(({ value }) => mayBackUp || value !== 'backup');
  return (
    <Page title="Settings">
      <Tabs label="Settings" value={tab} onValue={(value) => setFilters({ tab: value, text: '' })} tabs={tabs} />
    </Page>
  );
}
