import { useNavigate } from '@tanstack/react-router';
import { Gauge as GaugeIcon } from 'lucide-react';
import { useState } from 'react';
import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import { plans } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count } from '../../parts/figures.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Field, Form } from '../../parts/forms/form.tsx';
import { Page } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { SourceBadge } from '../../parts/stored/stored-entry.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { summaryOf } from './plan-fields.ts';

const sources = { configuration: 'file', 'admin api': 'kept', 'built-in': 'built-in' } as const;

const columns: Column<PlanReply>[] = [
  {
    head: 'Plan',
    value: ({ name }) => name,
    cell: (plan) => (
      <span className="inline-flex items-center gap-2">
        <span className="min-w-24 font-medium [overflow-wrap:anywhere]">{plan.name}</span>
        {plan.default && <Badge title="Accounts without their own plan get this one">default</Badge>}
      </span>
    ),
  },
  { head: 'Limits', from: 'sm', cell: ({ definition }) => <span className="text-muted">{summaryOf(definition)}</span> },
  { head: 'Accounts', align: 'right', cell: ({ accounts }) => <Count value={accounts} /> },
  {
    head: 'Source',
    from: 'lg',
    cell: ({ from }) => <SourceBadge source={sources[from]} />,
  },
];

export default function PlansPage() {
  const pages = usePages<PlanReply>(plans.path, {}, { inUrl: true });
  const { add, dialog } = useAdding({
    area: 'plans',
    label: 'New plan',
    title: 'New plan',
    description: 'A plan limits what an account may use. You set its limits next.',
    form: () => <NameForm />,
  });
  return (
    <Page title="Plans" actions={add}>
      <PagedTable
        label="Plans"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/plans/${encodeURIComponent(name)}`}
        empty={
          <Empty icon={<GaugeIcon />} title="There are no plans.">
            A plan says how much an account may use.
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
}

function NameForm() {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const fault = name === '' || /^[\w.-]{1,64}$/.test(name) ? null : 'Expected up to 64 letters, digits, dots, _ or -.';
  return (
    <Form
      error={null}
      onSubmit={() => {
        const to = `/dashboard/plans/${encodeURIComponent(name)}`;
        if (name !== '' && fault === null) void navigate({ to, ignoreBlocker: true });
      }}
      footer={
        <Button type="submit" look="main" disabled={name === '' || fault !== null}>
          Continue
        </Button>
      }
    >
      <Field name="name" label="Name" fault={fault} hint="For example team or free.">
        <Input spellCheck={false} value={name} onChange={(event) => setName(event.target.value.trim())} />
      </Field>
    </Form>
  );
}
