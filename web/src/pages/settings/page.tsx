import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { AuditLog } from './audit-log.tsx';
import { CheckFile } from './check-file.tsx';
import { InForce } from './in-force.tsx';

/** The configuration, who changed what, and the health of the server. */
export default function SettingsPage() {
  const [{ tab = 'config' }, setFilters] = useFilters<'tab' | 'text'>();
  return (
    <Page title="Settings">
      <Tabs
        label="Settings"
        value={tab}
        onValue={(value) => setFilters({ tab: value, text: '' })}
        tabs={[
          { value: 'config', label: 'Configuration', content: () => <InForce /> },
          { value: 'check', label: 'Check a file', content: () => <CheckFile /> },
          { value: 'audit', label: 'Audit log', content: () => <AuditLog /> },
        ]}
      />
    </Page>
  );
}
